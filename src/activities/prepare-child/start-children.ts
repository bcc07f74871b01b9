import type { PrepareChildAnswer } from '../../protocol/child-activities.js'
import { amendOperation, finishOperation } from '../../store/operations.js'
import type { Store } from '../../store/store.js'
import { findThread } from '../../store/threads.js'
import { OperationLost, commitHeld } from '../commit.js'
import type { HeldCall } from '../execute-tool/begin-call.js'
import { InstanceCapReached, instanceCapProblem } from './instance-cap.js'
import type { NewChildren, PlannedChildren } from './new-child.js'
import { writeChild } from './write-child.js'

interface Starting {
  readonly plan: PlannedChildren
  readonly made: NewChildren
}

/** One transaction: the children are there with all that they begin with, or none of them is (T2). */
export async function startChildren(
  store: Store,
  call: HeldCall,
  { plan, made: { children, commitParent } }: Starting,
): Promise<PrepareChildAnswer> {
  const { threadId } = call.input
  const { now, attempt, operationId: id } = call
  const { binding } = plan.subject
  const group = binding.fanOut
  return commitHeld(store, { threadId, id }, async (tx): Promise<PrepareChildAnswer> => {
    const parent = await findThread(tx, threadId)
    if (parent === null || parent.terminate_requested_at !== null) return { type: 'terminated' }
    const cap = await instanceCapProblem(tx, threadId, binding)
    if (cap !== null) throw new InstanceCapReached(cap)
    const { blocking, timeout } = binding
    const answer: PrepareChildAnswer = {
      type: 'children',
      children: children.map(({ prepared }) => prepared),
      group,
      blocking,
      ...(blocking && timeout !== null && { timeout }),
    }
    if (!(await finishOperation(tx, { threadId, id, attempt, answer, now }))) throw new OperationLost()
    for (const child of children)
      await writeChild(tx, store.secrets, { call, parent, plan, child, group, status: 'running' })
    const operations = await commitParent(tx)
    if (operations.length === 0) return answer
    const amended: PrepareChildAnswer = { ...answer, operations }
    await amendOperation(tx, { threadId, id, answer: amended })
    return amended
  })
}
