package science.atlarge.graphalytics.trimill;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.commons.configuration.Configuration;
import science.atlarge.graphalytics.configuration.ConfigurationUtil;
import science.atlarge.graphalytics.domain.algorithms.Algorithm;
import science.atlarge.graphalytics.domain.benchmark.BenchmarkRun;
import science.atlarge.graphalytics.domain.graph.FormattedGraph;
import science.atlarge.graphalytics.domain.graph.LoadedGraph;
import science.atlarge.graphalytics.execution.BenchmarkRunSetup;
import science.atlarge.graphalytics.execution.Platform;
import science.atlarge.graphalytics.execution.PlatformExecutionException;
import science.atlarge.graphalytics.execution.RunSpecification;
import science.atlarge.graphalytics.report.result.BenchmarkMetric;
import science.atlarge.graphalytics.report.result.BenchmarkMetrics;

/**
 * Runs the algorithm LCC of LDBC Graphalytics with trimill, by the shell scripts of the driver.
 *
 * <p>The benchmark derives the name of this class, with its package, from the name of the artifact. It calls what concerns graphs in its
 * own process, and what concerns a run, from {@link #startup} to {@link #finalize}, on one object in a process of that run. The paths are
 * relative to the folder that the distribution was unpacked to, in which the benchmark is started.
 */
public final class TrimillPlatform implements Platform {
    private static final String NAME = "trimill";
    private static final Path SCRIPTS = Paths.get("bin", "sh");
    private static final Path LOADED = Paths.get("intermediate");
    private static final Pattern PROCESSING = Pattern.compile("Processing (starts|ends) at: (\\d+)");

    private BigDecimal processingSeconds;

    @Override
    public void verifySetup() throws PlatformExecutionException {
        for (String script : Arrays.asList("load-graph.sh", "execute-job.sh", "terminate-job.sh", "unload-graph.sh")) {
            Path path = SCRIPTS.resolve(script).toAbsolutePath();
            if (!Files.isExecutable(path)) {
                throw new PlatformExecutionException(
                        path + " is no program; start the benchmark in the folder that the distribution was unpacked to");
            }
        }
    }

    @Override
    public LoadedGraph loadGraph(FormattedGraph graph) throws Exception {
        verifySetup(); // The benchmark itself does not call it.
        String loaded = LOADED.resolve(graph.getName()).toAbsolutePath().toString();
        script("load-graph.sh",
                "--graph-name", graph.getName(),
                "--input-vertex-path", graph.getVertexFilePath(),
                "--input-edge-path", graph.getEdgeFilePath(),
                "--output-path", loaded,
                "--directed", String.valueOf(graph.isDirected()));
        return new LoadedGraph(graph, loaded);
    }

    @Override
    public void prepare(RunSpecification run) throws PlatformExecutionException {
        Algorithm algorithm = run.getBenchmarkRun().getAlgorithm();
        if (algorithm != Algorithm.LCC) {
            throw new PlatformExecutionException("the algorithm " + algorithm.getAcronym()
                    + "; expected LCC, which is all that trimill computes of Graphalytics; list it alone in benchmark.custom.algorithms");
        }
    }

    @Override
    public void startup(RunSpecification run) {
        processingSeconds = null;
    }

    @Override
    public void run(RunSpecification run) throws PlatformExecutionException {
        BenchmarkRun job = run.getBenchmarkRun();
        BenchmarkRunSetup setup = run.getBenchmarkRunSetup();
        List<String> options = new ArrayList<>(Arrays.asList(
                "--job-id", job.getId(),
                "--log-path", logs(setup),
                "--algorithm", job.getAlgorithm().getAcronym().toLowerCase(Locale.ROOT),
                "--input-dir", run.getRuntimeSetup().getLoadedGraph().getLoadedPath(),
                "--output-file", setup.getOutputDir().resolve(job.getName()).toAbsolutePath().toString()));
        String threads = setting("num-threads");
        if (!threads.isEmpty()) {
            options.addAll(Arrays.asList("--num-threads", threads));
        }
        processingSeconds = processingSeconds(script("execute-job.sh", options.toArray(new String[0])));
    }

    @Override
    public BenchmarkMetrics finalize(RunSpecification run) throws PlatformExecutionException {
        if (processingSeconds == null) {
            throw new PlatformExecutionException("no processing time; the run " + run.getBenchmarkRun().getId() + " did not end well");
        }
        BenchmarkMetrics metrics = new BenchmarkMetrics();
        metrics.setProcessingTime(new BenchmarkMetric(processingSeconds, "s"));
        return metrics;
    }

    @Override
    public void terminate(RunSpecification run) throws PlatformExecutionException {
        script("terminate-job.sh", "--job-id", run.getBenchmarkRun().getId(), "--log-path", logs(run.getBenchmarkRunSetup()));
    }

    @Override
    public void deleteGraph(LoadedGraph graph) throws PlatformExecutionException {
        // The benchmark also deletes a graph that failed to load; a failure here would end the benchmark.
        if (graph != null) {
            script("unload-graph.sh", "--graph-name", graph.getFormattedGraph().getName(), "--output-path", graph.getLoadedPath());
        }
    }

    @Override
    public String getPlatformName() {
        return NAME;
    }

    private static String logs(BenchmarkRunSetup setup) {
        return setup.getLogDir().resolve("platform").toAbsolutePath().toString();
    }

    /** The value of a property of config/platform.properties, which benchmark.properties includes; empty if it has none. */
    private static String setting(String name) {
        Configuration settings = ConfigurationUtil.loadConfiguration("benchmark.properties");
        return settings.getString("platform." + NAME + "." + name, "").trim();
    }

    /** Runs a script, whose errors go where those of the benchmark go, and returns the lines that it printed. */
    private static List<String> script(String name, String... options) throws PlatformExecutionException {
        List<String> command = new ArrayList<>();
        command.add(SCRIPTS.resolve(name).toAbsolutePath().toString());
        command.addAll(Arrays.asList(options));
        ProcessBuilder builder = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT);
        String program = setting("program");
        if (!program.isEmpty()) {
            builder.environment().put("TRIMILL", program);
        }
        List<String> lines = new ArrayList<>();
        int code;
        try {
            Process process = builder.start();
            try (BufferedReader output = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
                for (String line = output.readLine(); line != null; line = output.readLine()) {
                    System.out.println(line);
                    lines.add(line);
                }
            }
            code = process.waitFor();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new PlatformExecutionException(String.join(" ", command) + " was interrupted", e);
        } catch (IOException e) {
            throw new PlatformExecutionException(String.join(" ", command) + ": " + e.getMessage(), e);
        }
        if (code != 0) {
            throw new PlatformExecutionException(String.join(" ", command) + " ended with code " + code + "; it printed why");
        }
        return lines;
    }

    private static BigDecimal processingSeconds(List<String> lines) throws PlatformExecutionException {
        Long start = null;
        Long end = null;
        for (String line : lines) {
            Matcher found = PROCESSING.matcher(line);
            if (found.matches() && found.group(1).equals("starts")) {
                start = Long.valueOf(found.group(2));
            } else if (found.matches()) {
                end = Long.valueOf(found.group(2));
            }
        }
        if (start == null || end == null) {
            throw new PlatformExecutionException(
                    "execute-job.sh printed no time; expected the lines 'Processing starts at: MS' and 'Processing ends at: MS'");
        }
        return BigDecimal.valueOf(end - start, 3);
    }
}
