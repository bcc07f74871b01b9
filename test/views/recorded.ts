/** Streams of threads that have run, as `test/workflow/views.test.ts` records them, and facts that a test makes up. */
import { readFileSync } from 'node:fs'
import type { ViewedFact } from '../../src/views/index.js'

export const SUBJECT = { threadId: 't', sessionId: 't', runtimeId: 'r', agent: 'host' }

/** The stream of a thread that has met everything. */
export function everything(): readonly ViewedFact[] {
  const file = new URL('streams/everything.json', import.meta.url)
  return JSON.parse(readFileSync(file, 'utf8')) as readonly ViewedFact[]
}

export interface MadeUp {
  readonly type: string
  readonly payload?: object
  readonly runId?: string
  readonly stepId?: string
  readonly messageId?: string
  readonly toolCallId?: string
  readonly traceId?: string
  readonly spanId?: string
}

/** Facts in the order of a log. */
export function log(...facts: readonly MadeUp[]): readonly ViewedFact[] {
  return facts.map((fact, index) => {
    const sequence = index + 1
    const envelope = { sequence, eventId: `t:${sequence}`, threadId: 't', schemaVersion: 1 }
    const made = { ...envelope, timestamp: `2026-01-01T00:00:0${index % 10}.000Z`, payload: {}, ...fact }
    // Some types are those of later versions.
    return made as unknown as ViewedFact
  })
}

const usage = { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0, cost: null }

/** Facts of a run, by what tests say of them. */
export const run = {
  started: (trigger = 'message', runId = 'run_1') => ({ type: 'run.started', runId, payload: { trigger } }),
  drained: (...ids: readonly string[]) => [
    { type: 'step.started', ...step, payload: { step: 1 } },
    { type: 'step.phase', ...step, payload: { phase: 1, name: 'drain' } },
    ...ids.map((messageId) => ({
      type: 'message.created',
      ...{ ...step, messageId, payload: { role: 'user' } },
    })),
    { type: 'step.phase', ...step, payload: { phase: 2, name: 'assemble_context' } },
  ],
  ended: (how: string, reason: string) => ({
    ...{ type: `run.${how}`, runId: 'run_1', payload: { reason, steps: 1, usage } },
  }),
}

export const step = { runId: 'run_1', stepId: 'step_1_1' }
