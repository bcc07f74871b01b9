import type { CompleteCallAnswer, CompleteCallInput, Completion } from '../../protocol/complete-call.js'
import { resultOperationId } from '../../protocol/ids.js'
import { findChild } from '../../store/children.js'
import type { ChildRecord } from '../../store/children.js'
import type { ActivityDependencies } from '../dependencies.js'
import { beginCall } from '../execute-tool/begin-call.js'
import { callHooks } from '../execute-tool/call-hooks.js'
import { succeeded } from '../execute-tool/call-result.js'
import { commitResult } from '../execute-tool/commit-result.js'
import { nameOfChild } from '../group-report.js'
import { keptPlan } from '../plan-content.js'

/** The call does not wait: it says who works, and how the result comes. */
export async function completeBySent(
  dependencies: ActivityDependencies,
  input: CompleteCallInput,
  { references }: Extract<Completion, { readonly kind: 'sent' }>,
): Promise<CompleteCallAnswer> {
  const { store } = dependencies
  const content = await keptPlan(dependencies, input.plan)
  const hooks = callHooks(dependencies, { input, content })
  const operationId = resultOperationId(input.callId)
  const begun = await beginCall(store, input, { operationId, again: true, opens: false })
  if (begun.kind === 'answered') return begun.answer
  const children: ChildRecord[] = []
  for (const reference of references) {
    const child = await store.read((db) => findChild(db, input.threadId, reference))
    if (child !== null) children.push(child)
  }
  const subagentId = references.length === 1 ? (references[0] ?? null) : null
  return commitResult(store, begun.call, succeeded(sentText(children), { subagentId }), { hooks })
}

function sentText(children: readonly ChildRecord[]): string {
  const names = children.map((child) => `${nameOfChild(child)} (reference: ${child.reference})`)
  const [first] = children
  if (first === undefined || children.length > 1)
    return `${children.length} subagents work now; what they report comes as one message when all are done: ${names.join(', ')}.`
  const how =
    first.parent_communication === 'explicit'
      ? 'it sends a message when it has something to say'
      : 'its result comes as a message'
  return `The subagent ${names.join('')} works now; ${how}.`
}
