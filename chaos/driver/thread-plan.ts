import type { SeededRandom } from '../../test/support/seeded-random.js'
import { seededRandom } from '../../test/support/seeded-random.js'
import { attachedName } from '../desk/chaos-files.js'
import { programText } from '../desk/program.js'
import { words } from './action.js'
import type { Action, ThreadPlan } from './action.js'
import { planFilling } from './fill-plan.js'
import { makeProgram } from './make-program.js'

/** Short messages one after another: more than one step takes. */
const BURST = 25
/** One thread in so many fills its queue, the third of all the first one: a short run has one. */
const FILLING = { every: 50, first: 2 } as const

/** The plan of the thread of that number: the same for a seed, in any process. */
export function planThread(seed: number, index: number): ThreadPlan {
  const random = seededRandom(seed * 100_003 + index)
  const threadId = `chaos-${seed}-${index}`
  if (index % FILLING.every === FILLING.first) return planFilling(threadId)
  const actions: Action[] = []
  const keepers: string[] = []
  let files = 0
  for (let message = 0; message < 3 + random.below(4); message += 1) {
    const attached = random.chance(0.4) ? [attachedName(index, (files += 1))] : []
    const program = makeProgram(random, { id: `m${message}`, files: attached, keepers })
    actions.push({
      kind: 'send',
      id: `${threadId}-m${message}`,
      content: `Do #m${message} ${programText(program)}`,
      files: attached,
    })
    actions.push(...between(random, threadId, message))
  }
  const ends = random.chance(0.06)
  return { threadId, actions: [...actions, ...lastActions(threadId, ends)] }
}

function between(random: SeededRandom, threadId: string, message: number): readonly Action[] {
  const choice = random.below(10)
  if (choice === 0) return burst(threadId, message)
  if (choice === 1) return [pause(random), { kind: 'stop' }, pause(random)]
  return choice < 6 ? [pause(random)] : [{ kind: 'settle', milliseconds: 20_000 }]
}

function burst(threadId: string, message: number): readonly Action[] {
  return Array.from({ length: BURST }, (_, number) => words(threadId, `m${message}-burst${number}`))
}

function pause(random: SeededRandom): Action {
  return { kind: 'pause', milliseconds: random.below(1_500) }
}

/** A stop keeps all that waits until a person says something. */
function lastActions(threadId: string, ends: boolean): readonly Action[] {
  return [words(threadId, 'last'), ...(ends ? [{ kind: 'terminate' } as const] : [])]
}
