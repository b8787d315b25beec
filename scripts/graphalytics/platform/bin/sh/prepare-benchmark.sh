# Sourced by run-benchmark.sh of the benchmark, which puts LIBRARY_JAR, below its `rootdir`, and platform_classpath on the class path.

export LIBRARY_JAR=lib/graphalytics-platforms-trimill.jar
export platform_classpath="$rootdir/lib/*"
