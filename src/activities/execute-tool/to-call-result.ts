import type { PlanContent } from '../../definitions/plan-content.js'
import type { ToolResult } from '../../definitions/tool.js'
import type { Store, Writer } from '../../store/store.js'
import type { BufferedState, StateEffects } from '../thread-state/buffered-thread-state.js'
import { atNewPath } from '../thread-state/moved-attachment.js'
import { attachFiles } from './attach-files.js'
import type { HeldCall } from './begin-call.js'
import { failed, succeeded } from './call-result.js'
import type { CallResult } from './call-result.js'
import { shownText } from './long-text.js'
import { sessionOf } from './session-call.js'
import { statusTextOf, stopToolWords } from './side-bindings.js'
import { answerProblem, filesOf, wordsOf } from './tool-answer.js'

export interface ToolAnswered {
  readonly call: HeldCall
  readonly state: BufferedState
  readonly args: Record<string, unknown>
  readonly content: PlanContent
  /** Whatever came: it is checked here. */
  readonly result: unknown
}

/** The result, made in the transaction that stores it, for only there its files have their final paths. */
export type PendingResult = (tx: Writer, effects: StateEffects) => Promise<CallResult>

/** Turns what a tool answered into what the model reads; what cannot be taken becomes an error result. */
export async function toCallResult(store: Store, answered: ToolAnswered): Promise<PendingResult> {
  const { call, state } = answered
  const problem = answerProblem(answered.result)
  if (problem !== null) return refused(problem, 'invalid_result')
  // What `answerProblem` found to be one: the boundary to the tool.
  const result = answered.result as ToolResult
  const files = await attachFiles(state, filesOf(result))
  if (typeof files === 'string') return refused(files, 'invalid_attachment')
  const succeededAs = result.status === 'success' ? { ...answered, result } : null
  const session = succeededAs === null ? null : await sessionOf(succeededAs)
  if (typeof session === 'string') return refused(session, 'invalid_attachment')
  const badContext = state.contextProblem()
  if (badContext !== undefined) return refused(badContext, 'invalid_context')
  const shown = await shownText(store, call, session?.message ?? wordsOf(result))
  return async (tx, { moved }) => {
    await shown.put(tx)
    const attachments = files.map((file) => atNewPath(file, moved))
    if (succeededAs === null) return failed(shown.text, result.error_code ?? null, { attachments })
    const own = session?.attachments.map((file) => atNewPath(file, moved)) ?? []
    const ended = session === null ? null : { ...session, attachments: [...own, ...attachments] }
    const followedBy = stopToolWords(succeededAs)
    return succeeded(shown.text, {
      attachments,
      session: ended,
      followedBy,
      statusText: statusTextOf(succeededAs),
    })
  }
}

function refused(reason: string, errorCode: string): PendingResult {
  return async () => failed(reason, errorCode)
}
