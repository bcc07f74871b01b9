import type { ActivityDependencies } from '../../src/activities/activity.js'
import { callModelAhead } from '../../src/activities/run-ahead.js'
import { runCaps } from '../../src/definitions/plan/build-plan.js'
import type { AheadPair, CallModelAnswer, CallModelInput } from '../../src/protocol/activities.js'
import { LIMITS } from '../../src/protocol/limits.js'
import { findOperation } from '../../src/store/operations.js'
import type { Store } from '../../src/store/store.js'
import { scriptedModel } from '../../src/testing/index.js'
import type { ScriptedModel } from '../../src/testing/index.js'
import { RULES } from '../../src/thread/ahead.js'
import { attempt, drainOf, modelInput, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'
import type { DeskParts } from './desk-registry.js'

export const AHEAD = { rules: RULES, settles: 0, run: ['a', [0, 0], 0, 0, [0, 0, 0, 0]] } as const
export const WORKS = { toolCalls: [{ name: 'work', args: {} }] }
/** As Temporal gives a model call: its own limit and a quarter of an hour. */
export const LONGEST = { startToCloseTimeoutMs: LIMITS.modelCall + 900_000 }

/** A model that works for so many steps, and then says that it is done. */
export function works(steps: number): ScriptedModel {
  return scriptedModel((request) =>
    request.messages.filter(({ role }) => role === 'tool').length < steps ? WORKS : { text: 'Done.' },
  )
}

interface Going extends DeskParts {
  readonly chat: ScriptedModel
  /** @default 10 */
  readonly steps?: number
}

export interface AheadDesk extends ActivityDesk {
  readonly input: CallModelInput
  /** One attempt of the activity. */
  go(
    dependencies?: Partial<ActivityDependencies>,
    environment?: ReturnType<typeof attempt>,
    /** @default its own */
    given?: CallModelInput,
  ): Promise<CallModelAnswer>
  operation(id: string): ReturnType<typeof findOperation>
}

/** A thread of one message, whose first model call goes on by itself. */
export function withAhead(
  { steps = 10, ...parts }: Going,
  work: (desk: AheadDesk) => Promise<void>,
): Promise<void> {
  return withDesk(parts, async (desk) => {
    const input = modelInput({ drain: drainOf(await desk.send('Please.')), ahead: AHEAD })
    const caps = steps === 0 ? runCaps() : runCaps({}, steps)
    await work({
      ...desk,
      input,
      go: (patch = {}, environment = attempt(LONGEST), given = input) =>
        environment.run(
          (asked: CallModelInput) => callModelAhead({ ...desk.dependencies, caps, ...patch }, asked),
          given,
        ),
      operation: (id) => desk.store.read((db) => findOperation(db, 't', id)),
    })
  })
}

export function pairsOf(answer: CallModelAnswer): readonly AheadPair[] {
  return 'ahead' in answer ? (answer.ahead ?? []) : []
}

export const idsOf = (answer: CallModelAnswer) => pairsOf(answer).map(({ id }) => id)
export const typesOf = (answer: CallModelAnswer) => pairsOf(answer).map(({ answer: { type } }) => type)

export const tool = (step: number) => `call_1_${step}_0`
export const model = (step: number) => `model_1_${step}`

/** The store of an attempt that is held at its first read or write behind this operation. `held` is told before it waits. */
export function holdStore(
  { store, operation }: AheadDesk,
  { at, behind }: { readonly at: 'read' | 'write'; readonly behind: string },
  held: () => Promise<void>,
): Store {
  const hold = async (): Promise<void> => {
    if ((await operation(behind))?.state === 'finished') await held()
  }
  return {
    ...store,
    close: () => store.close(),
    read: async (work) => (at === 'read' && (await hold()), store.read(work)),
    write: async (work) => (at === 'write' && (await hold()), store.write(work)),
  }
}
