import { expect, test } from 'vitest';
import { parseRedisAddress } from '../src/redis-address.ts';

test.each(['redis://127.0.0.1:6379', 'rediss://user:p%40ss@redis.example/2'])('%s is one server', (url) => {
  expect(parseRedisAddress(url)).toEqual({ url });
});

test('Sentinels by their names and addresses, with the name of the primary', () => {
  expect(parseRedisAddress('redis+sentinel://one.example,two.example:26380,[2001:db8::1]:80/mayfly/3')).toEqual({
    sentinels: [
      { host: 'one.example', port: 26379 },
      { host: 'two.example', port: 26380 },
      { host: '2001:db8::1', port: 80 },
    ],
    name: 'mayfly',
    db: 3,
    failoverDetector: true,
  });
});

test('over TLS, with a user and a password for servers and Sentinels', () => {
  expect(parseRedisAddress('rediss+sentinel://mayfly:p%40ss@one.example/mayfly')).toMatchObject({
    username: 'mayfly',
    password: 'p@ss',
    sentinelUsername: 'mayfly',
    sentinelPassword: 'p@ss',
    tls: {},
    sentinelTLS: {},
    enableTLSForSentinelMode: true,
  });
  expect(parseRedisAddress('redis+sentinel://:secret@one.example/mayfly')).not.toHaveProperty('username');
});

test('a cluster by some of its nodes, over TLS or not', () => {
  expect(parseRedisAddress('redis+cluster://one.example,[2001:db8::1]:80')).toEqual({
    nodes: [
      { host: 'one.example', port: 6379 },
      { host: '2001:db8::1', port: 80 },
    ],
    redisOptions: {},
  });
  expect(parseRedisAddress('rediss+cluster://mayfly:p%40ss@one.example:7000/')).toEqual({
    nodes: [{ host: 'one.example', port: 7000 }],
    redisOptions: { username: 'mayfly', password: 'p@ss', tls: {} },
  });
});

test.each([
  'redis+cluster://',
  'redis+cluster://one.example/2',
  'redis+cluster://one.example,',
  'redis+sentinel://one.example',
  'redis+sentinel://one.example/',
  'redis+sentinel:///mayfly',
  'redis+sentinel://one.example,/mayfly',
  'redis+sentinel://one.example:port/mayfly',
  'redis+sentinel://one.example/mayfly/x',
  'http://one.example',
  'one.example:6379',
])('%s is refused', (address) => {
  expect(parseRedisAddress(address)).toBeUndefined();
});
