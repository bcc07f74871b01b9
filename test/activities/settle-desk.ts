import { settle } from '../../src/activities/settle.js'
import type { RunEnd, SettleInput } from '../../src/protocol/end-activities.js'
import { attempt, NOW } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'

export const USAGE = { inputTokens: 10, outputTokens: 5, cachedInputTokens: 0, cost: 20 }
export const END: RunEnd = {
  reason: 'stopped',
  outcome: 'cancelled',
  steps: 1,
  usage: USAGE,
  sessionCall: null,
}
export const CLOSE = { outcome: 'terminated', reason: 'terminated' } as const

/** As the workflow of `t` asks for it when its run 1 was stopped. */
export function settleInput(patch: Partial<SettleInput> = {}): SettleInput {
  return {
    level: 1,
    threadId: 't',
    now: NOW + 5,
    run: 1,
    facts: [],
    settle: 1,
    end: END,
    close: null,
    snapshot: {
      threadId: 't',
      agent: 'clerk',
      parent: null,
      status: 'idle',
      at: NOW,
      run: null,
      queue: [],
      pending: [],
      effects: [],
      children: [],
      lastRun: null,
    },
    start: null,
    createdAt: NOW,
    ...patch,
  }
}

export function runSettle(desk: Pick<ActivityDesk, 'dependencies'>, input: SettleInput) {
  return attempt().run((given: SettleInput) => settle(desk.dependencies, given), input)
}
