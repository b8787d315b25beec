package science.atlarge.graphalytics.trimill;

import java.nio.file.Path;
import java.nio.file.Paths;
import org.apache.commons.configuration.Configuration;
import science.atlarge.graphalytics.configuration.ConfigurationUtil;
import science.atlarge.graphalytics.configuration.GraphParser;
import science.atlarge.graphalytics.configuration.PlatformParser;
import science.atlarge.graphalytics.domain.algorithms.Algorithm;
import science.atlarge.graphalytics.domain.benchmark.BenchmarkRun;
import science.atlarge.graphalytics.domain.graph.Graph;
import science.atlarge.graphalytics.domain.graph.LoadedGraph;
import science.atlarge.graphalytics.execution.BenchmarkRunSetup;
import science.atlarge.graphalytics.execution.Platform;
import science.atlarge.graphalytics.execution.PlatformExecutionException;
import science.atlarge.graphalytics.execution.RunSpecification;
import science.atlarge.graphalytics.execution.RuntimeSetup;
import science.atlarge.graphalytics.util.GraphFileManager;

/** Makes the calls of the benchmark, on each graph of benchmark.properties, in its order; run by scripts/graphalytics/check. */
public final class AllCalls {
    private AllCalls() {}

    public static void main(String[] arguments) throws Exception {
        Platform platform = PlatformParser.loadPlatformFromCommandLineArgs();
        platform.verifySetup();
        Configuration settings = ConfigurationUtil.loadConfiguration("benchmark.properties");
        Path root = Paths.get(settings.getString("graphs.root-directory"));
        for (String name : settings.getStringArray("graphs.names")) {
            String cache = root.resolve("cache").toString();
            Graph graph = new GraphParser(settings.subset("graph." + name), name, root.toString(), cache).parseGraph();
            count(platform, root, graph);
            for (Algorithm algorithm : Algorithm.values()) {
                if (algorithm != Algorithm.LCC) {
                    refuse(platform, specification(algorithm, root, graph, null));
                }
            }
        }
    }

    private static RunSpecification specification(Algorithm algorithm, Path root, Graph graph, LoadedGraph loaded) {
        BenchmarkRun job = new BenchmarkRun(algorithm, graph, 60);
        BenchmarkRunSetup setup = new BenchmarkRunSetup(job, root.resolve("log"), root.resolve("output"), root, true, false);
        return new RunSpecification(job, setup, new RuntimeSetup(loaded));
    }

    private static void count(Platform platform, Path root, Graph graph) throws Exception {
        GraphFileManager.ensureGraphFilesExist(graph.getGraphPerAlgorithm().get(Algorithm.LCC));
        LoadedGraph loaded = platform.loadGraph(graph.getGraphPerAlgorithm().get(Algorithm.LCC));
        RunSpecification run = specification(Algorithm.LCC, root, graph, loaded);
        platform.prepare(run);
        platform.startup(run);
        platform.run(run);
        String seconds = platform.finalize(run).getProcessingTime().toString();
        platform.terminate(run);
        platform.deleteGraph(loaded);
        Path output = run.getBenchmarkRunSetup().getOutputDir().resolve(run.getBenchmarkRun().getName());
        System.out.println("Counted " + graph.getName() + " in " + seconds + " s: " + output);
    }

    private static void refuse(Platform platform, RunSpecification run) throws Exception {
        try {
            platform.prepare(run);
        } catch (PlatformExecutionException expected) {
            return;
        }
        throw new AssertionError(run.getBenchmarkRun() + " was not refused");
    }
}
