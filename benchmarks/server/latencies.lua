-- wrk prints the 50th, 75th, 90th and 99th percentile of its own
function done(summary, latency)
   io.write(string.format("     95%%  %8.2fms\n", latency:percentile(95) / 1000))
end
