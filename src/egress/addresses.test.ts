import { expect, test } from 'vitest'
import { isReachable, NO_EXCEPTIONS, readExceptions } from './addresses.js'

test.each([
  ...['0.0.0.0', '10.1.2.3', '100.64.0.1', '127.0.0.1', '127.9.9.9', '169.254.169.254', '172.16.0.1'],
  ...['172.31.255.255', '192.168.1.1', '192.0.2.1', '198.18.0.1', '224.0.0.1', '240.0.0.1'],
  ...['255.255.255.255', '::', '::1', 'fe80::1', 'fe80::1%eth0', 'fc00::1', 'fd12:3456::1', 'ff02::1'],
  ...['::ffff:127.0.0.1', '::ffff:7f00:1', '0:0:0:0:0:ffff:10.0.0.1', '::127.0.0.1', '64:ff9b::10.0.0.1'],
  ...['64:ff9b:1::8.8.8.8', '2001:0:1::1', '2002:7f00:1::', '2001:db8::1', '100::1', 'fec0::1'],
  ...['', 'localhost', '8.8.8', '8.8.8.8.8', '2606:4700::1111::1'],
])('%s is not reached', (address) => {
  expect(isReachable(address, NO_EXCEPTIONS)).toBe(false)
})

test.each(['8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '::ffff:8.8.8.8', '64:ff9b::8.8.8.8'])(
  '%s is reached',
  (address) => {
    expect(isReachable(address, NO_EXCEPTIONS)).toBe(true)
  },
)

test('an exception opens its network and nothing beside it, in each form of an address', () => {
  const exceptions = readExceptions(['10.1.0.0/16', 'fd00:1::/32', '127.0.0.1', 'Receiver.internal'])
  const reached = ['10.1.255.255', '::ffff:10.1.2.3', 'fd00:1::9', '127.0.0.1']
  expect(reached.filter((address) => !isReachable(address, exceptions))).toEqual([])
  const others = ['10.2.0.0', '::ffff:10.2.0.0', 'fd00:2::1', '127.0.0.2', '::1']
  expect(others.filter((address) => isReachable(address, exceptions))).toEqual([])
  expect([...exceptions.hosts]).toEqual(['receiver.internal'])
})

test.each([
  '',
  '10.0.0.0/33',
  '10.0.0.0/',
  '10.0.0',
  '::1/129',
  'a b',
  'https://example.org',
  '*',
  '10.0.0.0/8/8',
])('the exception %j is refused', (entry) => {
  expect(() => readExceptions([entry])).toThrow('names of hosts, addresses or networks')
})
