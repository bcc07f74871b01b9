/**
 * The credentials of HTTP tools.
 *
 * Owns: where the values of variables stand in a request, and every form of them that an answer could quote. Does not own: the variables
 * (`docs/guide/variables.md`) and to whom they are sent (`egress/exchange.ts`).
 * Invariant: a value is read when its request is made, and is in no argument, record or error.
 */
import { createTextRedactor } from '../../policy/text-redactor.js'
import type { TextRedactor } from '../../policy/text-redactor.js'
import type { VariableDefinition } from '../agent.js'
import type { ThreadState } from '../thread-state.js'
import { ToolError } from '../tool-error.js'

/** Credentials by the names of variables, whose values are added when the request is made. */
export type HttpAuth =
  /** `Authorization: Bearer VALUE`. */
  | { readonly bearer: string }
  /** A header of its own; `prefix` stands before the value. */
  | { readonly header: string; readonly variable: string; readonly prefix?: string }
  | { readonly basic: { readonly user: string; readonly password: string } }
  /** A parameter of the query. Proxies and services log URLs: prefer a header. */
  | { readonly query: string; readonly variable: string }

interface Credentials {
  readonly headers: Readonly<Record<string, string>>
  readonly query: readonly (readonly [string, string])[]
  /** Knows the values, and what was made of them. */
  readonly redactor: TextRedactor
}

/** The names of its variables. */
function variablesOfAuth(auth: HttpAuth | undefined): readonly string[] {
  if (auth === undefined) return []
  if ('bearer' in auth) return [auth.bearer]
  return 'basic' in auth ? [auth.basic.user, auth.basic.password] : [auth.variable]
}

/** The declarations of those that the definition does not declare itself. */
export function declaredVariables(
  auth: HttpAuth | undefined,
  given: readonly VariableDefinition[],
  host: string,
): readonly VariableDefinition[] {
  const known = new Set(given.map(({ name }) => name))
  const missing = variablesOfAuth(auth).filter((name) => !known.has(name))
  const added = missing.map((name) => {
    return { name, type: 'secret', required: true, description: `For requests to ${host}` } as const
  })
  return [...given, ...added]
}

/** Reads the values. @throws ToolError without the value, if it cannot be sent */
export async function readCredentials(state: ThreadState, auth: HttpAuth | undefined): Promise<Credentials> {
  const redactor = createTextRedactor()
  const read = async (name: string): Promise<string> => {
    const value = (await state.env(name)).trim()
    noteForms(redactor, name, value)
    if (!/^[\x20-\x7e\x80-\xff]+$/.test(value))
      throw new ToolError(`Expected the variable ${name} to have a value without control characters.`, {
        category: 'permission',
      })
    return value
  }
  const made = await credentialsOf(auth, read, redactor)
  return { headers: {}, query: [], ...made, redactor }
}

/** Also as services write it that escape each slash of JSON, and in HTML. */
function noteForms({ note }: TextRedactor, name: string, value: string): void {
  note(name, value)
  note(
    name,
    JSON.stringify(value)
      .slice(1, -1)
      .replaceAll('/', String.raw`\/`),
  )
  note(
    name,
    value.replace(/[&<>"']/g, (found) => `&#${found.charCodeAt(0)};`),
  )
  note(
    name,
    value.replace(/[&<>"']/g, (found) => HTML[found] ?? found),
  )
}

const HTML: Readonly<Record<string, string>> = {
  ...{ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' },
}

async function credentialsOf(
  auth: HttpAuth | undefined,
  read: (name: string) => Promise<string>,
  redactor: TextRedactor,
): Promise<Partial<Credentials>> {
  if (auth === undefined) return {}
  if ('bearer' in auth) return { headers: { authorization: `Bearer ${await read(auth.bearer)}` } }
  if ('header' in auth)
    return { headers: { [auth.header.toLowerCase()]: `${auth.prefix ?? ''}${await read(auth.variable)}` } }
  if ('query' in auth) {
    const value = await read(auth.variable)
    // As it stands in a query, where a blank is a plus.
    redactor.note(auth.variable, new URLSearchParams({ '': value }).toString().slice(1))
    return { query: [[auth.query, value]] }
  }
  const { user, password } = auth.basic
  const pair = Buffer.from(`${await read(user)}:${await read(password)}`).toString('base64')
  noteForms(redactor, password, pair)
  return { headers: { authorization: `Basic ${pair}` } }
}
