import type { HookBatch } from '../../src/activities/hooks/hook-batch.js'
import { stepBatch } from '../../src/activities/hooks/step-batch.js'
import type { AnyHook } from '../../src/definitions/hook.js'
import { buildPlan } from '../../src/definitions/plan/build-plan.js'
import type { Message } from '../../src/protocol/message.js'
import { findError } from '../../src/store/errors.js'
import { AFTER_A_MINUTE, attempt, modelInput, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'

/** A message as hooks see it. */
export const MESSAGE: Message = {
  id: 'm1',
  role: 'user',
  content: 'hello',
  name: null,
  tool_calls: null,
  tool_call_id: null,
  created_at: 1,
  parent_id: null,
  depth: 0,
  silent: false,
  metadata: { kind: 'greeting' },
  status: 'pending',
  tool_status: null,
  attachments: [
    {
      id: '/attachments/a.png',
      type: 'file',
      path: '/attachments/a.png',
      name: 'a.png',
      mimeType: 'image/png',
      size: 3,
      width: 1,
      height: 1,
    },
  ],
  reasoning_content: null,
  finish_reason: null,
  prompt: null,
  subagent_id: null,
  position: null,
}

/** Runs `work` with a batch of these hooks, inside an attempt of an activity. */
export async function withBatch(
  hooks: readonly AnyHook[],
  work: (batch: HookBatch, desk: ActivityDesk) => Promise<void>,
  options: { readonly ids?: readonly string[]; readonly environment?: ReturnType<typeof attempt> } = {},
): Promise<void> {
  await withDesk({ hooks }, async (desk) => {
    const { ids = hooks.map(({ id }) => id), environment = attempt(AFTER_A_MINUTE) } = options
    await environment.run(async () => {
      const content = buildPlan(desk.dependencies.registry, 'clerk')
      if ('missing' in content) throw new Error('Expected a plan.')
      const batch = stepBatch(desk.dependencies, {
        input: modelInput(),
        content,
        ids,
        promptPath: ['clerk'],
        name: 'test',
        recordsMissing: true,
      })
      await work(batch, desk)
    })
  })
}

/** What `hook.failed` events say, with the words that the store keeps. */
export async function hookFailures(desk: ActivityDesk): Promise<readonly (readonly unknown[])[]> {
  const events = (await desk.events()).filter(({ type }) => type === 'hook.failed')
  return Promise.all(
    events.map(async ({ payload }) => {
      const { hook, point, code, errorId } = payload
      const error = await desk.store.read((db) => findError(db, String(errorId)))
      return [hook, point, code, error?.message]
    }),
  )
}
