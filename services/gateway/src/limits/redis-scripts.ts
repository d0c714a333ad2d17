/**
 * The time, in milliseconds; within a log never before its newest entry. A log whose newest entry is more than a window ahead
 * is from before the clock was set back: nobody knows how old it is, so it is dropped and its client begins anew.
 */
const NOW = `
local function now_ms(given)
  if given then return tonumber(given) end
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

local function not_before(key, window, now)
  local newest = tonumber(redis.call('LINDEX', key, -1) or now)
  if newest - now <= window then return math.max(now, newest) end
  redis.call('DEL', key)
end
`;

/**
 * One request, decided in one step and one round trip. KEYS: the log of the client's requests (a list of milliseconds, oldest
 * first), the day's bytes, the log of wrong tokens; a key that is not wanted is empty. ARGV: max, windowMs, bytes,
 * quotaBytes, quotaExpireSec, failuresMax, failuresWindowMs, now (tests only). Answer: count, waitMs, quota exceeded, lockedMs.
 *
 * The log is exact: a request is let in only when fewer than `max` are in the window that ends with it. Refused requests
 * are not logged, so that a client that keeps trying recovers. Time is Redis's, and never runs backwards within a log.
 */
export const ADMIT = `
${NOW}

local max, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local clock = now_ms(ARGV[8])

-- Drops what has left the window. Answers the number left, the oldest entry and a time not before the newest.
local function live(key, window, now)
  local count = redis.call('LLEN', key)
  if count == 0 then return 0, now, now end
  now = not_before(key, window, now)
  if not now then return 0, clock, clock end
  local oldest = tonumber(redis.call('LINDEX', key, 0))
  if oldest > now - window then return count, oldest, now end
  local low, high = 1, count
  while low < high do
    local middle = math.floor((low + high) / 2)
    if tonumber(redis.call('LINDEX', key, middle)) <= now - window then low = middle + 1 else high = middle end
  end
  redis.call('LPOP', key, low)
  if low >= count then return 0, now, now end
  return count - low, tonumber(redis.call('LINDEX', key, 0)), now
end

local count, wait = 0, 0
if max > 0 then
  local oldest, now
  count, oldest, now = live(KEYS[1], window, clock)
  if count >= max then return {count + 1, oldest + window - now, 0, 0} end
  redis.call('RPUSH', KEYS[1], now)
  redis.call('PEXPIRE', KEYS[1], window)
  count, wait = count + 1, oldest + window - now
end
if KEYS[3] ~= '' then
  local failures, oldest, now = live(KEYS[3], tonumber(ARGV[7]), clock)
  if failures >= tonumber(ARGV[6]) then return {count, wait, 0, oldest + tonumber(ARGV[7]) - now} end
end
if KEYS[2] ~= '' then
  local used = tonumber(redis.call('GET', KEYS[2]) or '0')
  if used + tonumber(ARGV[3]) > tonumber(ARGV[4]) then return {count, wait, 1, 0} end
  redis.call('INCRBY', KEYS[2], ARGV[3])
  redis.call('EXPIRE', KEYS[2], ARGV[5])
end
return {count, wait, 0, 0}
`;

/** KEYS: the day's bytes. ARGV: bytes to give back. Never below zero, and never a key without an end. */
export const GIVE_BACK = `
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
if redis.call('DECRBY', KEYS[1], ARGV[1]) < 0 then redis.call('SET', KEYS[1], 0, 'KEEPTTL') end
return 1
`;

/** KEYS: the log of wrong tokens. ARGV: failuresMax, failuresWindowMs, now (tests only). It never grows beyond its limit. */
export const FAIL = `
${NOW}
local clock = now_ms(ARGV[3])
redis.call('RPUSH', KEYS[1], not_before(KEYS[1], tonumber(ARGV[2]), clock) or clock)
redis.call('LTRIM', KEYS[1], -tonumber(ARGV[1]), -1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
`;
