import { LIMITS } from '../../protocol/limits.js'

/** A database of a server, as its URL names it. */
export interface PostgresPlace {
  /** For people: the URL without password and parameters. */
  readonly name: string
  /** That this process may open in all. */
  readonly connections: number
  /** The URL, without what is ours. */
  readonly connectionString: string
  /** Settings that the URL gives to the server. */
  readonly options: readonly string[]
}

export function isPostgres(database: string): boolean {
  return /^postgres(ql)?:/i.test(database)
}

/** The place without its password, also of one that cannot be understood: no message may show it. */
export function postgresName(database: string): string {
  const url = parse(database)
  if (url === undefined) return 'the PostgreSQL database'
  const user = url.username === '' ? '' : `${url.username}@`
  return `postgres://${user}${url.host}${url.pathname}`
}

/** What of a URL cannot be, in words without its password. */
export function postgresProblem(database: string): string | undefined {
  const url = parse(database)
  if (url === undefined) return 'one that is no URL: write special characters of the password as %XX'
  if (url.pathname.length < 2) return 'one without the name of a database'
  const connections = connectionsOf(url)
  if (Number.isInteger(connections) && connections >= LEAST) return undefined
  return `connections=${url.searchParams.get('connections')}, which is no whole number of at least ${LEAST}`
}

/**
 * Reads `postgres://user:password@host:5432/database`. Of its parameters `connections` is ours, the rest are libpq's
 * (`sslmode`, `options`, `application_name`).
 */
export function postgresPlace(database: string): PostgresPlace {
  const url = new URL(database)
  const options = url.searchParams.get('options')
  const place = { name: postgresName(database), connections: connectionsOf(url) }
  url.searchParams.delete('connections')
  url.searchParams.delete('options')
  return { ...place, connectionString: url.href, options: options === null ? [] : [options] }
}

/** One reads, one writes, one listens. */
const LEAST = 3

function connectionsOf(url: URL): number {
  return Number(url.searchParams.get('connections') ?? LIMITS.databaseConnections)
}

function parse(database: string): URL | undefined {
  try {
    return new URL(database)
  } catch {
    return undefined
  }
}
