import { loopRegistry } from '../loop/loop-registry.js'
import { loopingModel } from './looping-model.js'
import type { Turn } from './looping-model.js'
import type { Stopwatch } from './stopwatch.js'
import { STEPS_AHEAD } from '../sides.js'

/** The agents `worker` and `ahead` with one tool: what it does and how long its results are, the turn says. */
export function stepRegistry(turn: Turn, stopwatch: Stopwatch, capabilities?: readonly string[]) {
  const model = loopingModel(turn, stopwatch)
  return loopRegistry({
    ...{ model, result: () => 'x'.repeat(turn.resultLength), stepsAhead: STEPS_AHEAD },
    ...(capabilities !== undefined && { capabilities }),
  })
}
