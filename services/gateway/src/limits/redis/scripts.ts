import { GUESSER, type Limits, SHARES } from '../admission.ts';

/** Stands, with a hash tag, for a key that is not wanted: users may be confined to keys that begin with `mayfly:`, so it cannot be empty. */
export const NONE = 'mayfly:none';

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
 * Which of two names counts while the day's key changes. Gateways switch a moment apart, so the first one that does takes
 * the log along, and from then on everybody follows it. Decision limits-kept-in-memory.
 */
const NAMED = `
local function is_none(key)
  return string.sub(key, 1, ${NONE.length}) == '${NONE}'
end

-- The same hash tag as the keys that were given, on a cluster.
local tag = string.match(KEYS[#KEYS], '{%d+}') or ''

local function named(key, old, is_switched)
  if is_none(old) or redis.call('EXISTS', key) == 1 then return key end
  if not is_switched then return old end
  if redis.call('EXISTS', old) == 1 then redis.call('RENAME', old, key) end
  return key
end

-- The attempts under way beside a log of wrong tokens: how many each gateway has.
local function attempts(key, old, is_switched)
  return named(key .. ':now', is_none(old) and old or old .. ':now', is_switched)
end

local function release(key, owner)
  if redis.call('HINCRBY', key, owner, -1) <= 0 then redis.call('HDEL', key, owner) end
end
`;

/**
 * One request, decided in one step and one round trip. Answer: count and waitMs; where there is more to tell than zeros also
 * quota exceeded, lockedMs (-1: until the day ends), must wait, reserved.
 * KEYS: 1 and 2 the log of the client's requests (a list of milliseconds, oldest first) under its new and its old name. For a
 * token 3 the item's budget, then for each network of the client, the narrowest first, the log of wrong tokens, new and old.
 * For bytes at last the day's bytes. A name that is not wanted is NONE.
 * ARGV: 1 is switched; for a token 2 owner, 3 whether to reserve an attempt in any case; for bytes 4 how many, 5 quotaExpireSec;
 * in tests 6 now. What is left out at the end is none.
 *
 * The log is exact: a request is let in only when fewer than \`max\` are in the window that ends with it. Refused requests
 * are not logged, so that a client that keeps trying recovers. Time is Redis's, and never runs backwards within a log.
 * An attempt at a token is reserved until it is settled, or its gateway is gone. The first one of a gateway is not, when there
 * is nothing else: nearly all requests are alone, and have the right token.
 */
export const admit = ({ max, windowMs, quotaBytes, failuresMax, failuresWindowMs, itemFailuresMax }: Limits) => `
${NOW}
${NAMED}

local max, window, quota_bytes, failures_window, item_max =
  ${max}, ${windowMs}, ${quotaBytes}, ${failuresWindowMs}, ${itemFailuresMax}
local most_failures = {${SHARES.map((share) => share * failuresMax)}}
local is_switched, clock = ARGV[1] == '1', now_ms(ARGV[6])
local bytes = tonumber(ARGV[4] or '0')
local guard_end = bytes > 0 and #KEYS - 1 or #KEYS

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

local function under_way(key)
  local total, each = 0, redis.call('HGETALL', key)
  for i = 1, #each, 2 do
    if redis.call('EXISTS', 'mayfly:gateway:' .. tag .. each[i]) == 1 then
      total = total + tonumber(each[i + 1])
    else
      redis.call('HDEL', key, each[i])
    end
  end
  return total
end

local count, wait = 0, 0
if not is_none(KEYS[1]) and max > 0 then
  local log = named(KEYS[1], KEYS[2], is_switched)
  local oldest, now
  count, oldest, now = live(log, window, clock)
  if count >= max then return {count + 1, oldest + window - now} end
  redis.call('RPUSH', log, now)
  redis.call('PEXPIRE', log, window)
  count, wait = count + 1, oldest + window - now
end

if #KEYS == 2 then return {count, wait} end

local reserved, must_wait, is_reserved = {}, 0, tonumber(ARGV[3] or '0')
if guard_end > 2 then
  local is_used_up = item_max > 0 and tonumber(redis.call('HGET', KEYS[3], 'all') or '0') >= item_max
  local guesser = math.min((guard_end - 3) / 2, ${GUESSER})
  for i = 4, guard_end, 2 do
    local network = i / 2 - 1
    local log, most = named(KEYS[i], KEYS[i + 1], is_switched), most_failures[network]
    local failures, oldest, now = live(log, failures_window, clock)
    if failures >= most then return {count, wait, 0, oldest + failures_window - now} end
    if is_used_up and network == guesser then
      if redis.call('HEXISTS', KEYS[3], string.sub(log, -22)) == 1 then return {count, wait, 0, -1} end
      most = failures + 1 -- one attempt at a time
    end
    local now_key = attempts(KEYS[i], KEYS[i + 1], is_switched)
    local all = failures + under_way(now_key)
    if all >= most then must_wait = 1 end
    if all > 0 or is_used_up then is_reserved = 1 end
    reserved[network] = now_key
  end
  if must_wait == 1 then return {count, wait, 0, 0, 1} end
end
if bytes > 0 then
  local quota = KEYS[#KEYS]
  if tonumber(redis.call('GET', quota) or '0') + bytes > quota_bytes then return {count, wait, 1} end
  redis.call('INCRBY', quota, ARGV[4])
  redis.call('EXPIRE', quota, ARGV[5])
end
if is_reserved == 0 then return {count, wait} end
for i = 1, #reserved do
  redis.call('HINCRBY', reserved[i], ARGV[2], 1)
  redis.call('PEXPIRE', reserved[i], 3600000)
end
redis.call('SET', 'mayfly:gateway:' .. tag .. ARGV[2], '', 'PX', 10000)
return {count, wait, 0, 0, 0, 1}
`;

/** KEYS: the day's bytes. ARGV: bytes to give back. Never below zero, and never a key without an end. */
export const GIVE_BACK = `
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
if redis.call('DECRBY', KEYS[1], ARGV[1]) < 0 then redis.call('SET', KEYS[1], 0, 'KEEPTTL') end
return 1
`;

/** Attempts that were no wrong tokens. KEYS: logs of wrong tokens, new and old, as often as they were reserved. ARGV: is switched, owner. */
export const REFUND = `
${NAMED}
for i = 1, #KEYS, 2 do release(attempts(KEYS[i], KEYS[i + 1], ARGV[1] == '1'), ARGV[2]) end
return 1
`;

/**
 * An attempt that was a wrong token. Answer: 0, or when there was one too many how long the item is locked. KEYS: 1 the item's
 * budget, then the logs of wrong tokens as above. ARGV: 1 is switched, 2 owner, 3 whether it was reserved, 4 expireSec of
 * the budget, in tests 5 now. A log never grows beyond its limit.
 */
export const fail = ({ failuresMax, failuresWindowMs, itemFailuresMax }: Limits) => `
${NOW}
${NAMED}
local most_failures = {${SHARES.map((share) => share * failuresMax)}}
local window, is_switched, clock, locked = ${failuresWindowMs}, ARGV[1] == '1', now_ms(ARGV[5]), 0
local guesser = math.min((#KEYS - 1) / 2, ${GUESSER})
for i = 2, #KEYS, 2 do
  local network, log = i / 2, named(KEYS[i], KEYS[i + 1], is_switched)
  local most = most_failures[network]
  if ARGV[3] == '1' then release(attempts(KEYS[i], KEYS[i + 1], is_switched), ARGV[2]) end
  local now = not_before(log, window, clock) or clock
  local oldest = tonumber(redis.call('LINDEX', log, -most) or now - window)
  locked = math.max(locked, oldest + window - now)
  redis.call('RPUSH', log, now)
  redis.call('LTRIM', log, -most, -1)
  redis.call('PEXPIRE', log, window)
  if ${itemFailuresMax} > 0 and network == guesser then
    redis.call('HINCRBY', KEYS[1], 'all', 1)
    redis.call('HINCRBY', KEYS[1], string.sub(log, -22), 1)
    redis.call('EXPIRE', KEYS[1], ARGV[4])
  end
end
return locked
`;
