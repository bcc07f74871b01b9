/** PostgreSQL accepts a hundred in all by default: four processes with these, and a few for people. */
const CONNECTIONS = 20

/** A PostgreSQL database, as its URL describes it. */
export interface PostgresPlace {
  /** The URL without password and parameters, for messages. */
  readonly name: string
  /** The number of connections that this process may open. */
  readonly connections: number
  /** The URL without the parameters of this package. */
  readonly connectionString: string
  /** Server settings from the URL. */
  readonly options: readonly string[]
}

export function isPostgres(database: string): boolean {
  return /^postgres(ql)?:/i.test(database)
}

/** The URL without its password, also if it is invalid: no message may contain the password. */
export function postgresName(database: string): string {
  const url = parse(database)
  if (url === undefined) return 'the PostgreSQL database'
  const user = url.username === '' ? '' : `${url.username}@`
  return `postgres://${user}${url.host}${url.pathname}`
}

/** What is wrong with a URL, without its password; undefined for a valid one. */
export function postgresProblem(database: string): string | undefined {
  const url = parse(database)
  if (url === undefined) return 'one that is no URL: write special characters of the password as %XX'
  if (url.pathname.length < 2) return 'one without the name of a database'
  const connections = connectionsOf(url)
  if (Number.isInteger(connections) && connections >= LEAST) return undefined
  return `connections=${url.searchParams.get('connections')}, which is no whole number of at least ${LEAST}`
}

/**
 * Reads `postgres://user:password@host:5432/database`. Of its parameters `connections` is read here; the others are of libpq
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

/** One for reads, one for writes, one that listens. */
const LEAST = 3

function connectionsOf(url: URL): number {
  return Number(url.searchParams.get('connections') ?? CONNECTIONS)
}

function parse(database: string): URL | undefined {
  try {
    return new URL(database)
  } catch {
    return undefined
  }
}
