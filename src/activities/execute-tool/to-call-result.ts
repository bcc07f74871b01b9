import type { PlanContent } from '../../definitions/plan-content.js'
import type { ToolResult } from '../../definitions/tool.js'
import type { Store } from '../../store/store.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import type { BufferedState } from '../thread-state/buffered-thread-state.js'
import { attachFiles } from './attach-files.js'
import type { HeldCall } from './begin-call.js'
import { failed, succeeded } from './call-result.js'
import type { CallResult } from './call-result.js'
import { hooksOfResult } from './hook-result.js'
import { shownText } from './long-text.js'
import type { PreparedResult } from './prepared-result.js'
import { sessionOf } from './session-call.js'
import { statusTextOf, stopToolWords } from './side-bindings.js'
import { answerProblem, filesOf, wordsOf } from './tool-answer.js'

export interface ToolAnswered {
  readonly call: HeldCall
  readonly state: BufferedState
  /** They share its state. */
  readonly hooks: HookBatch
  readonly args: Record<string, unknown>
  readonly content: PlanContent
  /** Whatever came: it is checked here. */
  readonly result: unknown
}

/** Turns what a tool answered into what the model reads; what cannot be taken becomes an error result. */
export async function toCallResult(
  store: Store,
  answered: ToolAnswered,
): Promise<CallResult | PreparedResult> {
  const { call, state, hooks } = answered
  const problem = answerProblem(answered.result)
  if (problem !== null) return failed(problem, 'invalid_result')
  // What `answerProblem` found to be one: the boundary to the tool.
  const given = answered.result as ToolResult
  const points = hooksOfResult(hooks, call)
  const after = await points.afterCall(given)
  const result = after === null ? given : await points.beforeStore(after)
  const refused = (reason: string, code: string) => withoutFiles(failed(reason, code), after === null)
  const files = await attachFiles(state, filesOf(result))
  if (typeof files === 'string') return refused(files, 'invalid_attachment')
  const succeededAs = result.status === 'success' ? { ...answered, result } : null
  const session = succeededAs === null ? null : await sessionOf(succeededAs)
  if (typeof session === 'string') return refused(session, 'invalid_attachment')
  const badContext = state.contextLooks()
  if (badContext !== undefined) return refused(badContext, 'invalid_context')
  const { text, put } = await shownText(store, call, session?.message ?? wordsOf(result))
  const ended = session === null ? null : { ...session, attachments: [...session.attachments, ...files] }
  const made =
    succeededAs === null
      ? failed(text, result.error_code ?? null, { attachments: files })
      : succeeded(text, {
          attachments: files,
          session: ended,
          followedBy: stopToolWords(succeededAs),
          // The parent is told before the result is stored.
          statusText: statusTextOf({ ...succeededAs, result: after ?? given }),
        })
  return { result: made, erased: after === null, put }
}

function withoutFiles(result: CallResult, erased: boolean): PreparedResult {
  return { result, erased, put: async () => undefined }
}
