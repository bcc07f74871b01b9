/**
 * Which addresses an outgoing request may reach.
 *
 * Owns: the networks that are not the public internet, and the exceptions of an operator. Does not own: names, which have
 * no meaning here until they are resolved, and the request itself (`guarded-request.ts`).
 * Invariant: an address that is not understood is not reached.
 */
import { BlockList, isIP } from 'node:net'
import { ConfigError } from '../protocol/errors.js'

/** What an operator allows beside the public internet. */
export interface EgressExceptions {
  /** Names whose addresses are not checked, in lower case. */
  readonly hosts: ReadonlySet<string>
  readonly networks: BlockList
}

export const NO_EXCEPTIONS: EgressExceptions = { hosts: new Set(), networks: new BlockList() }

/** IPv4 networks of one machine, of private networks, of carriers, of documentation, of multicast, and reserved ones. */
const SPECIAL_V4 = networks([
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15'],
  ...['198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
])

/** The only IPv6 addresses of the public internet: loopback, link-local, unique local and multicast ones are outside. */
const GLOBAL_V6 = networks(['2000::/3'])

/** Those of them that stand for other addresses (Teredo, 6to4), or for none (documentation, ORCHID). */
const SPECIAL_V6 = networks([
  ...['2001::/32', '2001:2::/48', '2001:10::/28', '2001:20::/28', '2001:db8::/32', '2002::/16', '3fff::/20'],
])

function networks(list: readonly string[]): BlockList {
  const all = new BlockList()
  for (const network of list) {
    const [address = '', bits] = network.split('/')
    all.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4')
  }
  return all
}

/** Whether an address is of the public internet, or an exception. False for a text that is no address. */
export function isReachable(address: string, { networks: allowed }: EgressExceptions): boolean {
  const plain = embeddedV4(address) ?? address
  const family = isIP(plain)
  if (family === 4) return allowed.check(plain, 'ipv4') || !SPECIAL_V4.check(plain, 'ipv4')
  if (family !== 6 || groupsOf(plain) === null) return false
  return allowed.check(plain, 'ipv6') || (GLOBAL_V6.check(plain, 'ipv6') && !SPECIAL_V6.check(plain, 'ipv6'))
}

/** What stands before the IPv4 address in one that is mapped to IPv6, and in one that NAT64 translates. */
const EMBEDDING = ['0:0:0:0:0:ffff', '64:ff9b:0:0:0:0']

/** The IPv4 address that an IPv6 address leads to; null if it leads to none. */
function embeddedV4(address: string): string | null {
  const groups = groupsOf(address)
  if (groups === null) return null
  const [high = 0, low = 0] = groups.slice(6)
  const before = groups.slice(0, 6).map((group) => group.toString(16))
  if (!EMBEDDING.includes(before.join(':'))) return null
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}

/** The eight numbers of an IPv6 address; null for any other text, and for an address with a zone. */
function groupsOf(address: string): readonly number[] | null {
  if (isIP(address) !== 6) return null
  // A URL writes an address in one form only, without dots.
  const host = URL.parse(`http://[${address}]`)?.hostname.slice(1, -1)
  if (host === undefined) return null
  const [head = '', tail] = host.split('::')
  const numbers = (part: string): readonly number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))
  const [first, last] = [numbers(head), numbers(tail ?? '')]
  const zeros = tail === undefined ? 0 : 8 - first.length - last.length
  return [...first, ...Array.from({ length: zeros }, () => 0), ...last]
}

const HOST = /^[a-z0-9_]([a-z0-9_.-]{0,251}[a-z0-9_])?$/

/**
 * Reads what an operator allows: names of hosts (`receiver.internal`), addresses (`10.1.2.3`) and networks (`10.1.0.0/16`).
 * @throws ConfigError that names each entry which is none of these
 */
export function readExceptions(entries: readonly string[]): EgressExceptions {
  const hosts = new Set<string>()
  const allowed = new BlockList()
  const problems = entries.flatMap((entry) => {
    const [address = '', bits, ...more] = entry.split('/')
    const family = isIP(address)
    const most = family === 6 ? 128 : 32
    const length = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) : Infinity
    if (family !== 0 && more.length === 0 && length <= most) {
      allowed.addSubnet(address, length, family === 6 ? 'ipv6' : 'ipv4')
      return []
    }
    const host = entry.toLowerCase()
    if (HOST.test(host) && !/^[\d.]+$/.test(host)) {
      hosts.add(host)
      return []
    }
    return [
      `Expected what outgoing requests may reach to be names of hosts, addresses or networks such as "10.1.0.0/16", got ${JSON.stringify(entry)}.`,
    ]
  })
  if (problems.length > 0) throw new ConfigError(problems)
  return { hosts, networks: allowed }
}

/** What an operator allows for outgoing requests: this list, else that of `EVERTHREAD_EGRESS_ALLOW`. @throws ConfigError */
export function exceptionsFor(allow: readonly string[] | undefined): EgressExceptions {
  const listed = (process.env['EVERTHREAD_EGRESS_ALLOW'] ?? '').split(',').map((entry) => entry.trim())
  return readExceptions(allow ?? listed.filter((entry) => entry !== ''))
}
