/**
 * A call that waits until its person has logged in.
 *
 * Owns: what the person is asked, the state of the call meanwhile, and what an answer means. Does not own: the login itself (`logins.ts`), the
 * request and who may answer it, and the call behind it (`mcp-server.ts`).
 * Invariants: the state names the login and has nothing of it that is secret; the code is exchanged by a part that may run again, and the call
 * is made by the next one, so that a crash between them makes no call twice.
 */
import { ToolError } from '../../definitions/tool-error.js'
import type { ResumedCall, SourceCall, SourcePending } from '../../definitions/tool-source.js'
import type { ToolResult } from '../../definitions/tool-result.js'
import { isObject, withoutUndefined } from '../../protocol/values.js'
import type { JsonObject, JsonValue } from '../../protocol/values.js'
import type { Challenge, LoginServer } from '../oauth/login-client.js'
import { challengeIn, finishLogin, loginOf, startLogin } from './logins.js'

/** A part of the call that could not be done without a login. */
type InterruptedPart = Pick<ResumedCall, 'resume' | 'answer'> & { readonly repeatable: boolean }

/** How a call stands to logins. */
export interface Resumption {
  /** How often it has asked for one. */
  readonly asked: number
  /** Null: the call has not begun. */
  readonly part: InterruptedPart | null
}

/** A call that waits for a person who logs in. */
interface WaitingLogin extends Resumption {
  readonly state: string
  /** The answer, where it could not be exchanged yet, and how often that was tried. */
  readonly answer?: ToolResult
  readonly tries?: number
}

/** A server that refuses what it has given is not to be asked for ever. */
const MOST_LOGINS = 3
/** Milliseconds before a code is tried again; doubled up to the longest. A code is over after some minutes. */
const [FIRST_PAUSE, LONGEST_PAUSE, MOST_TRIES] = [2_000, 120_000, 9]

/** Does a part of a call; if the server wants a login for it, the call waits for its person. */
export async function withLogin(
  server: LoginServer,
  call: SourceCall,
  { asked, part }: Resumption,
  work: () => Promise<ToolResult | SourcePending>,
): Promise<ToolResult | SourcePending> {
  try {
    return await work()
  } catch (error) {
    const challenge = challengeIn(error)
    if (challenge === null || asked >= MOST_LOGINS) throw error
    return askForLogin(server, call, { challenge, asked, part })
  }
}

async function askForLogin(
  server: LoginServer,
  call: SourceCall,
  { challenge, asked, part }: Resumption & { readonly challenge: Challenge },
): Promise<SourcePending> {
  const { name } = server
  const { signal } = call
  const { state, authorizationUrl: url } = await startLogin(server, loginOf(server, call), {
    challenge,
    signal,
  })
  const waiting: WaitingLogin = { state, asked: asked + 1, part }
  return {
    ...{ status: 'pending', form: formOf(name, state), connect: { server: name, url, state } },
    ...{ resume: { login: waiting as unknown as JsonValue }, repeatable: true },
  }
}

/** What the page gives back to which the person returns: the parameters of its address. */
function formOf(server: string, state: string): JsonObject {
  return {
    ...{ type: 'object', description: `Log in to ${server}. What comes back is the answer.` },
    properties: {
      state: { const: state },
      code: { type: 'string', maxLength: 4_096 },
      iss: { type: 'string', maxLength: 2_048 },
      error: { type: 'string', maxLength: 256 },
    },
    required: ['state'],
  }
}

/** A call that a login has let go on; null: it waits for no login. */
export function readResumption({ ready }: JsonObject): Resumption | null {
  // Written by `goOnWithLogin`: the store's boundary.
  return isObject(ready) ? (ready as unknown as Resumption) : null
}

/**
 * Takes the answer of a person who was asked to log in. The part that follows makes the call. Null: the call waits for no login.
 * @throws ToolError if the person declined, or the login is not possible
 */
export async function goOnWithLogin(server: LoginServer, call: ResumedCall): Promise<SourcePending | null> {
  const { login: state } = call.resume
  if (!isObject(state)) return null
  // Written above: the store's boundary.
  const waiting = state as unknown as WaitingLogin
  const { asked, part, tries = 0 } = waiting
  const answer = call.answer ?? waiting.answer
  const given = givenIn(server.name, answer, waiting.state)
  try {
    const kept = loginOf(server, call)
    if (!(await finishLogin(server, kept, { ...given, state: waiting.state, signal: call.signal }))) {
      if (asked < MOST_LOGINS) return await askForLogin(server, call, { challenge: {}, asked, part })
      throw new ToolError(`The MCP server "${server.name}" takes no login of this person.`, {
        ...{ category: 'permission', code: 'mcp_login_failed' },
      })
    }
  } catch (error) {
    const isPassing = ToolError.isInstance(error) && error.code === 'mcp_login_unavailable'
    if (!isPassing || tries >= MOST_TRIES) throw error
    const later = { ...waiting, ...withoutUndefined({ answer }), tries: tries + 1 }
    const after = Math.min(FIRST_PAUSE * 2 ** tries, LONGEST_PAUSE)
    return { status: 'pending', after, resume: { login: later as unknown as JsonValue } }
  }
  const ready: Resumption = { asked, part }
  const repeatable = part?.repeatable ?? false
  return { status: 'pending', after: 0, resume: { ready: ready as unknown as JsonValue }, repeatable }
}

interface Given {
  readonly code: string
  readonly iss: string | undefined
}

/** What the person has brought. `respond` has checked it by the form. */
function givenIn(server: string, answer: ToolResult | undefined, state: string): Given {
  const fields = answer?.status === 'success' && isObject(answer.result) ? answer.result : {}
  const { code, iss, error } = fields
  if (fields['state'] === state && typeof code === 'string' && code !== '' && error === undefined)
    return { code, iss: typeof iss === 'string' ? iss : undefined }
  const reason = typeof error === 'string' && /^[\w-]{1,64}$/.test(error) ? ` (${error})` : ''
  throw new ToolError(`The person did not log in to the MCP server "${server}"${reason}.`, {
    ...{ category: 'permission', code: 'mcp_login_refused' },
  })
}
