import { randomUUID } from 'node:crypto'
import { loadPlan } from '../../src/activities/plan-content.js'
import { beginFrame } from '../../src/activities/turn/frame.js'
import type { BegunFrame } from '../../src/activities/turn/frame.js'
import type { ExecuteToolInput, Frame } from '../../src/protocol/activities.js'
import { modelOperationId, nestedCallIdOf } from '../../src/protocol/ids.js'
import { insertToolCalls } from '../../src/store/calls/tool-calls.js'
import { appendMessage } from '../../src/store/messages/delivery.js'
import { insertOperation } from '../../src/store/operations.js'
import { attempt, modelInput, NOW } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'

export function frameOf({ callId, depth, last }: ExecuteToolInput, prompt = 'digest'): Frame {
  return { callId, prompt, depth: depth + 1, ...(last && { last }) }
}

/** The first thing that the model call of a frame does. */
export async function begin(
  desk: ActivityDesk,
  input: ExecuteToolInput,
  dependencies = desk.dependencies,
): Promise<BegunFrame> {
  const content = await loadPlan(dependencies, input.plan)
  const asked = modelInput({ plan: input.plan, trigger: null, frame: frameOf(input) })
  return attempt().run(() => beginFrame(dependencies, asked, content))
}

interface NestedAnswer {
  readonly text?: string
  readonly calls?: readonly { readonly name: string; readonly args?: unknown }[]
}

/** The rows that a frame's model call leaves behind; answers its calls. */
export async function answer(
  desk: ActivityDesk,
  input: ExecuteToolInput,
  { text, calls = [] }: NestedAnswer,
): Promise<readonly ExecuteToolInput[]> {
  const begun = await begin(desk, input)
  if (begun.kind !== 'begun') throw new Error(`Expected the frame to begin, got ${begun.answer.type}.`)
  const messageId = randomUUID()
  const depth = input.depth + 1
  const ids = calls.map((_call, index) => nestedCallIdOf(input.callId, index))
  await desk.store.write(async (tx) => {
    await insertOperation(tx, {
      thread_id: 't',
      id: modelOperationId({ run: 1, step: 1, frame: input }),
      kind: 'model',
      state: 'finished',
      attempt: 1,
      message_id: messageId,
      started_at: NOW * 1000,
    })
    await appendMessage(tx, {
      ...{ id: messageId, threadId: 't', role: 'assistant', content: text ?? null, createdAt: NOW * 1000 },
      ...{ sentBy: 'model', parentId: begun.parentId, depth, prompt: 'digest', side: 'a', run: 1, step: 1 },
    })
    await insertToolCalls(
      tx,
      calls.map(({ name, args = {} }, index) => ({
        ...{
          thread_id: 't',
          id: ids[index] ?? '',
          message_id: messageId,
          run: 1,
          step: 1,
          call_index: index,
        },
        ...{ side: 'a', name, provider_call_id: '', parent_call_id: input.callId },
        arguments: JSON.stringify(args),
      })),
    )
  })
  return calls.map(({ name }, index) => ({
    ...input,
    ...{ callId: ids[index] ?? '', name, depth, promptPath: ['clerk', 'digest'] },
    ...{ first: index === 0, last: index === calls.length - 1 },
  }))
}
