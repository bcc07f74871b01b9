import { expect, test } from 'vitest'
import type { PendingRequest } from '../../client/index.js'
import { hasHistory, ignoredOf, newMessagesOf, runInput } from './input.js'
import type { NewInput, RunInput } from './input.js'
import { isInterrupt, resumeEntry, toAnswer, toInterrupt } from './interrupts.js'
import { beginRun, joinRun } from './run.js'

type PendingForm = Extract<PendingRequest, { readonly kind: 'call' }>['form']

const budget: PendingRequest = {
  ...({
    id: 'b',
    kind: 'budget',
    scope: 'run',
    period: 'total',
    limit: 'maxSteps',
    most: 1,
    used: 1,
  } as const),
  requestedAt: 1,
}

test('a request of a budget is a confirmation, and what its schema lacks is refused', () => {
  expect(isInterrupt(budget)).toBe(true)
  expect(toInterrupt(budget)).toMatchObject({ id: 'b', reason: 'confirmation' })
  const entry = resumeEntry.parse({
    interruptId: 'b',
    status: 'resolved',
    payload: { approved: true, raise: 2 },
  })
  expect(toAnswer('budget', entry)).toEqual({ approved: true, raise: 2 })
  expect(() => toAnswer('budget', { ...entry, payload: { sudo: true } })).toThrow('got also sudo')
  expect(toAnswer('approval', { ...entry, status: 'cancelled' })).toMatchObject({ approved: false })
})

test('a login is an interrupt with its address', () => {
  const connect = { server: 'tracker', url: 'https://login.example.com/authorize?state=s', state: 's' }
  const form = { type: 'object', required: ['state'] } satisfies PendingForm
  const login: PendingRequest = { id: 'c', kind: 'call', toolName: 'search', form, connect, requestedAt: 1 }
  expect(toInterrupt(login)).toMatchObject({
    ...{ id: 'c', reason: 'input_required', responseSchema: form },
    ...{ message: '"search" waits until you have logged in to tracker.' },
    metadata: { kind: 'connect', connect },
  })
})

test('the messages of the person at the end are new, and what is not used has a name', () => {
  const messages = ['assistant', 'user', 'user'].map((role, id) => ({ id: `m${id}`, role, content: 'x' }))
  const input: RunInput = runInput.parse({ threadId: 't', runId: 'r', messages, tools: [{ name: 'sudo' }] })
  const fresh: readonly NewInput[] = newMessagesOf(input)
  expect(fresh.map(({ message }) => message.id)).toEqual(['m1', 'm2'])
  expect(ignoredOf(input)).toEqual({ tools: ['sudo'], context: 0 })
  const known = [{ id: 'm0', role: 'assistant', content: 'x' }] as const
  expect(hasHistory(input, { known, own: new Set(['m1', 'm2']) })).toBe(true)
  expect(hasHistory(input, { known: [], own: new Set() })).toBe(false)
  expect([beginRun, joinRun].every((run) => run.length > 0)).toBe(true)
})
