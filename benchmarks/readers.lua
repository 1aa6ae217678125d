-- Readers for wrk: each connection asks about once a second, for pages in turn, and each time from an address of its own.
local paths, turn, tag = {}, 0, nil
answered, unchanged, failed = 0, 0, 0 -- of this thread; `done` reads them

function init(arguments)
   for place, path in ipairs(arguments) do paths[place] = path end
end

function delay()
   return math.random(500, 1500)
end

function request()
   turn = turn + 1
   local path = paths[turn % #paths + 1]
   local headers = {
      ["Accept"] = "text/html",
      ["Accept-Encoding"] = "gzip",
      ["X-Forwarded-For"] = string.format("10.2.%d.%d", math.random(0, 250), math.random(1, 250)),
   }
   if path:find("^/api/") then headers["If-None-Match"] = tag end
   return wrk.format("GET", path, headers)
end

function response(status, headers)
   answered = answered + 1
   if status == 304 then unchanged = unchanged + 1 end
   if status >= 400 then failed = failed + 1 end
   local found, kind
   for name, value in pairs(headers) do
      if name:lower() == "etag" then found = value end
      if name:lower() == "content-type" then kind = value end
   end
   if found and kind == "application/json" then tag = found end -- of a board as JSON
end

local threads = {}
function setup(thread)
   table.insert(threads, thread)
end

function done(summary, latency)
   local all, same, bad = 0, 0, 0
   for _, thread in ipairs(threads) do
      all, same, bad = all + thread:get("answered"), same + thread:get("unchanged"), bad + thread:get("failed")
   end
   local errors = summary.errors
   bad = bad + errors.connect + errors.read + errors.write + errors.timeout
   io.write(string.format("answered %d unchanged %d failed %d p50 %.1f p95 %.1f\n",
      all, same, bad, latency:percentile(50) / 1000, latency:percentile(95) / 1000))
end
