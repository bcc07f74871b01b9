import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, expect, test } from 'vitest'

import { isOpen, openGate } from '../../chaos/desk/gate.js'
import { openJournal, readJournal } from '../../chaos/desk/journal.js'
import { planThread } from '../../chaos/driver/thread-plan.js'
import type { Acknowledgement } from '../../chaos/processes/acknowledgement.js'
import { carryOut } from '../../chaos/processes/carry-out.js'
import { MessageRejectedError, TemporalUnavailableError } from '../../src/index.js'

type Threads = Parameters<typeof carryOut>[0]['threads']

const { threadId, actions } = planThread(1, 0)
let folder = ''

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'everthread-plans-'))
})

afterEach(() => rm(folder, { recursive: true, force: true }))

const acknowledged = () => readJournal<Acknowledgement>(join(folder, 'acknowledged.jsonl'))

/** `fails` decides whether a call fails; null hangs in it, as in a process that is killed there. */
function client(fails: (call: string) => Error | null | undefined) {
  const calls: string[] = []
  const call = async (name: string): Promise<void> => {
    calls.push(name)
    const error = fails(name)
    if (error === null) await new Promise(() => undefined)
    if (error instanceof Error) throw error
  }
  const handle = {
    way: 'client',
    async send(message: unknown) {
      const { id = '' } = message as { readonly id?: string }
      await call(`send ${id}`)
      return { messageId: id }
    },
    stop: () => call('stop'),
    terminate: () => call('terminate'),
    waitUntilIdle: () => call('settle'),
  }
  // Nothing that they answer is looked at, but the id of a message.
  const threads = { create: () => call('create'), get: () => handle } as unknown as Threads
  return { calls, threads }
}

function work(
  threads: Threads,
  { finish, lanes = 1 }: { readonly finish: boolean; readonly lanes?: number },
): Promise<void> {
  const journals = { acknowledged: join(folder, 'acknowledged.jsonl'), received: '', answers: '' }
  const place = { address: '', store: { database: '', blobs: '', secretKey: '' }, taskQueue: '' }
  const api = { url: '', token: '' }
  const gates = folder
  const plans = { seed: 1, lanes, heartbeatTimeout: null, finish }
  return carryOut({
    threads,
    place: { ...place, ...journals, ...plans, api, gates },
    work: { finish },
    begun: () => undefined,
  })
}

const first = actions.find((action) => action.kind === 'send')?.id ?? ''

test('what was cut is made again by the next process, under its id', async () => {
  const killed = client((call) => (call === `send ${first}` ? null : undefined))
  void work(killed.threads, { finish: false })
  await expect.poll(() => killed.calls).toEqual(['create', `send ${first}`])
  expect(acknowledged().map(({ kind }) => kind)).toEqual(['created'])

  const next = client(() => undefined)
  await work(next.threads, { finish: true })
  expect(next.calls[0]).toBe(`send ${first}`)
  expect(next.calls).not.toContain('create')
  expect(acknowledged().filter(({ messageId }) => messageId === first)).toHaveLength(1)
})

/** Of a thread that an earlier process created: with `finish` its first action, its last words and no more. */
async function goOn(threads: Threads): Promise<void> {
  const journal = openJournal<Acknowledgement>(join(folder, 'acknowledged.jsonl'))
  journal.write({ threadId, way: 'client', action: -1, kind: 'created' })
  await work(threads, { finish: true })
}

test('an action is acknowledged when its call has returned', async () => {
  let failures = 2
  const away = new TemporalUnavailableError(threadId, { address: 'a', problem: 'nothing' })
  const failing = client((call) => (call === `send ${first}` && (failures -= 1) >= 0 ? away : undefined))
  await goOn(failing.threads)
  expect(failing.calls.filter((call) => call === `send ${first}`)).toHaveLength(3)
  expect(acknowledged()[1]).toMatchObject({ kind: 'sent', messageId: first })
  expect(acknowledged().map(({ kind }) => kind)).not.toContain('refused')
})

test('what is refused for good is written down as such', async () => {
  const refusing = client((call) => (call === `send ${first}` ? new Error('No') : undefined))
  await goOn(refusing.threads)
  expect(acknowledged()[1]).toMatchObject({ action: 0, kind: 'refused', problem: 'Error: No' })
})

test('a queue is filled whole: what does not fit is written down as that, and the last words are sent until they do', async () => {
  const filling = planThread(1, 2)
  const full = new MessageRejectedError(
    filling.threadId,
    'Expected at most 1000 queued messages, got another one: wait until some are delivered.',
  )
  let waiting = 0
  let lastWords = 0
  const threads = client((call) => {
    if (call.endsWith('-last')) return (lastWords += 1) < 3 ? full : undefined
    if (!call.includes('-fill')) return undefined
    expect(isOpen(folder, { threadId: filling.threadId, kind: 'full' })).toBe(false)
    return (waiting += 1) > 1000 ? full : undefined
  })
  openGate(folder, { threadId: filling.threadId, kind: 'held' })
  const journal = openJournal<Acknowledgement>(join(folder, 'acknowledged.jsonl'))
  journal.write({ threadId: filling.threadId, way: 'client', action: -1, kind: 'created' })
  await work(threads.threads, { finish: true, lanes: 3 })
  const count = (kind: string): number => acknowledged().filter((line) => line.kind === kind).length
  expect([count('sent'), count('full'), count('skipped'), count('refused')]).toEqual([1002, 5, 0, 0])
  expect(acknowledged().at(-1)).toMatchObject({ kind: 'sent', messageId: `${filling.threadId}-last` })
  expect(lastWords).toBe(3)
  expect(isOpen(folder, { threadId: filling.threadId, kind: 'full' })).toBe(true)
})
