import type { Registry } from '../../definitions/registry.js'
import type { DeliverReportInput } from '../../protocol/end-activities.js'
import { LIMITS } from '../../protocol/limits.js'
import type { StopReason } from '../../protocol/status.js'
import { lastFailure } from '../../store/last-failure.js'
import { lastWords, madeInRun } from '../../store/last-words.js'
import type { Reader } from '../../store/store.js'
import { findThread } from '../../store/threads.js'
import { findToolCall } from '../../store/tool-calls.js'
import { TRY_AGAIN } from '../call-model/model-failure.js'
import { fitting } from '../report-text.js'
import { saysIfCut } from '../cut-answer.js'
import { missingOfRun } from '../variables/variables-request.js'
import { waitsForVariables, withoutResult } from './without-result.js'

/** What a session came to. */
export interface SessionPayload {
  readonly kind: 'result' | 'failure'
  readonly text: string
  /** Files of the child. */
  readonly paths: readonly string[]
}

/** Ends that an agent was made for, if it has no tool that ends its session. */
const MEANT: ReadonlySet<StopReason> = new Set([
  'stop_on_response',
  'answer_cut',
  'stop_tool',
  'max_session_turns',
])

const WORDLESS = 'The subagent ended its work without a text.'
const FILES_ONLY = 'The subagent ended its work with files and without a text.'

/**
 * The mapped payload of the session tool, with the files that models made. Of an agent without such tools it is what was said
 * last; any other session that ended without one is a failure that says why.
 */
export async function sessionPayload(
  db: Reader,
  registry: Registry,
  input: DeliverReportInput,
): Promise<SessionPayload> {
  const { threadId, run, reason, failure, sessionCall } = input
  const session = sessionCall === null ? null : (await findToolCall(db, threadId, sessionCall))?.session
  const made = (): Promise<readonly string[]> => madeInRun(db, { threadId, number: run })
  if (session != null) {
    const kind = session.kind === 'stop' ? 'result' : 'failure'
    const named = [...new Set(session.attachments.map(({ path }) => path))]
    // A call that names no files means those that were made.
    const paths = kind === 'result' && named.length === 0 ? await made() : named
    return { kind, text: session.message, paths }
  }
  if (MEANT.has(reason) && !(await hasSessionTools(db, registry, threadId))) {
    const words = await lastWords(db, { threadId, number: run })
    const paths = await made()
    const wordless = paths.length === 0 ? WORDLESS : FILES_ONLY
    const text = words === null || words.content === '' ? wordless : saysIfCut(words)
    return { kind: 'result', text, paths }
  }
  const missing = reason === 'blocked' ? await missingOfRun(db, input) : []
  if (missing.length > 0) return { kind: 'failure', text: waitsForVariables(missing), paths: [] }
  const text = [withoutResult(reason, failure), ...(await whatFailed(db, input))].join(' ')
  return { kind: 'failure', text, paths: [] }
}

/** Whose words say more than the reason of an end. */
const FAILED: ReadonlyMap<StopReason, 'tool' | 'model'> = new Map([
  ['repeated_tool_error', 'tool'],
  ['model_failed', 'model'],
  ['hook_blocked', 'model'],
])

/** From the child's transcript: a parent cannot read it. */
async function whatFailed(
  db: Reader,
  { threadId, run, reason }: DeliverReportInput,
): Promise<readonly string[]> {
  const of = FAILED.get(reason)
  const failure = of === undefined ? null : await lastFailure(db, { threadId, number: run }, of)
  if (failure === null) return []
  const text = fitting(failure.text.replace(TRY_AGAIN, '').trim(), LIMITS.answerTextBytes)
  return [failure.tool === null ? text : `The last error, of ${failure.tool}: ${text}`]
}

/** Of an agent that this worker lacks nothing is known: its session has then ended without what it may have been for. */
async function hasSessionTools(db: Reader, registry: Registry, threadId: string): Promise<boolean> {
  const thread = await findThread(db, threadId)
  const agent = thread === null ? undefined : registry.agent(thread.agent)
  if (agent === undefined) return true
  return [agent.sideA, agent.sideB].some(
    (side) => side?.sessionStop !== undefined || side?.sessionFail !== undefined,
  )
}
