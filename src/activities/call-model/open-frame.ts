import { randomUUID } from 'node:crypto'
import type { CallModelAnswer, CallModelInput } from '../../protocol/activities.js'
import type { PlanContent } from '../../definitions/plan-content.js'
import { findOperation, insertOperation } from '../../store/operations.js'
import type { ActivityDependencies } from '../dependencies.js'
import { beginFrame } from '../execute-tool/begin-frame.js'
import type { BegunFrame } from '../execute-tool/begin-frame.js'
import { keptPlan } from '../plan-content.js'
import { heldAgain, newOperation } from './drain-step.js'
import { operationOf } from './model-step.js'
import type { HeldOperation } from './model-step.js'

type OpenedFrame =
  | { readonly kind: 'answered'; readonly answer: CallModelAnswer }
  | {
      readonly kind: 'held'
      readonly input: CallModelInput
      readonly content: PlanContent
      readonly held: HeldOperation
      readonly frame: Extract<BegunFrame, { readonly kind: 'begun' }>
    }

/** The nested step of a prompt tool drains nothing: its operation is held, below the call that it answers (T4). */
export async function openFrame(
  dependencies: ActivityDependencies,
  input: CallModelInput,
): Promise<OpenedFrame> {
  const { store } = dependencies
  if (input.plan === null) throw new Error('Expected the plan of the outer step, got none.')
  const content = await keptPlan(dependencies, input.plan)
  const { threadId, id } = operationOf(input)
  const known = await store.read((db) => findOperation(db, threadId, id))
  // Written by this activity: the store's boundary.
  if (known?.state === 'finished') return { kind: 'answered', answer: known.answer as CallModelAnswer }
  const frame = await beginFrame(dependencies, input, content)
  if (frame.kind === 'answered') return frame
  const held = await store.write(async (tx): Promise<CallModelAnswer | HeldOperation> => {
    const operation = await findOperation(tx, threadId, id)
    if (operation !== null) return heldAgain(tx, operation)
    const added = { ...newOperation(input, content), message_id: randomUUID() }
    await insertOperation(tx, added)
    return added
  })
  if ('type' in held) return { kind: 'answered', answer: held }
  return { kind: 'held', input, content, held, frame }
}
