package parse

// codeOf is what a tool has besides its declaration.
func codeOf(name string) code {
	switch name {
	case "ab":
		return code{then: abFailures, histograms: abHistograms}
	case "boot-times":
		return code{split: splitBootTimes}
	case "cassandra-stress":
		return code{read: readCassandra, series: cassandraSeries, split: splitCassandra}
	case "fio":
		return code{read: readFio, histograms: fioHistograms, split: splitFio, settings: fioSettings}
	case "ghz":
		return code{read: readGhz, settings: ghzSettings}
	case "h2load":
		return code{then: h2loadRates, settings: h2loadSettings}
	case "pgbench":
		return code{then: pgbenchFailures, split: splitPgbench}
	case "hpl":
		return code{read: readHPL, split: splitHPL}
	case "ioping":
		return code{read: readIOPing, split: splitIOPing}
	case "iozone":
		return code{read: readIOzone, split: splitIOzone}
	case "iperf3":
		return code{read: readIperf3, series: iperf3Series, split: splitIperf3, settings: iperf3Settings, id: iperf3ID}
	case "jmeter":
		return code{read: readJMeter, series: jmeterSeries, split: splitJMeter}
	case "k6":
		return code{read: readK6, split: splitK6}
	case "latencies":
		return code{read: readLatencies}
	case "memtier":
		return code{read: readMemtier, split: splitMemtier}
	case "redis-benchmark":
		return code{read: readRedis, histograms: redisHistograms, split: splitRedis, settings: redisSettings}
	case "stages":
		return code{read: readStages}
	case "stress-ng":
		return code{read: readStressNG, split: splitStressNG}
	case "sysbench-fileio":
		return code{then: sysbenchPercentile, histograms: sysbenchHistograms, settings: sysbenchModes}
	case "sysbench-oltp":
		return code{then: sysbenchFailures, histograms: sysbenchHistograms, settings: sysbenchQueries, series: sysbenchSeries}
	case "sysbench-cpu", "sysbench-threads":
		return code{then: sysbenchPercentile, histograms: sysbenchHistograms}
	case "sysbench-memory":
		return code{then: sysbenchMemory, histograms: sysbenchHistograms}
	case "vegeta-csv":
		return code{read: readVegeta}
	case "wrk":
		return code{then: wrkFailures}
	case "wrk2":
		return code{read: readWrk2}
	}
	return code{}
}
