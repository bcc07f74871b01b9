import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import { readJournal } from '../../chaos/desk/journal.js'
import type { AnswerLine } from '../../chaos/processes/answer-line.js'
import { answerRequests } from '../../chaos/processes/answer-requests.js'
import {
  MessageRejectedError,
  NoWorkerError,
  RequestNotFoundError,
  TemporalUnavailableError,
} from '../../src/index.js'

let folder = ''
let path = ''

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'everthread-answers-'))
  path = join(folder, 'answers.jsonl')
})

afterEach(() => rm(folder, { recursive: true, force: true }))

const lines = (): readonly string[] => readJournal<AnswerLine>(path).map(({ kind }) => kind)
const until = (...kinds: readonly string[]) => vi.waitFor(() => expect(lines()).toEqual(kinds), 10_000)
const noWorker = new NoWorkerError('t', { taskQueue: 'q', kept: 'answer' })
const unavailable = new TemporalUnavailableError('t', { address: 'a', problem: 'nothing' })

/** Its calls end so, one after the other; the last one for ever. */
function client(...ends: readonly ('returned' | 'silence' | Error)[]) {
  const asked: string[] = []
  const respond = async (requestId: string): Promise<{ child: null }> => {
    // What the journal must know before anybody else does.
    expect(lines()).toContain('begun')
    const end = ends[Math.min(asked.push(requestId), ends.length) - 1]
    if (end === 'silence') await new Promise(() => undefined)
    if (end instanceof Error) throw end
    return { child: null }
  }
  return { asked, get: () => ({ way: 'client' as const, respond }) }
}

test('an answer is repeated until it is acknowledged', async () => {
  const threads = client(noWorker, unavailable, 'returned')
  const { answer } = answerRequests(threads, path)
  answer('t', 'r')
  answer('t', 'r')
  await until('begun', 'returned')
  expect(threads.asked).toEqual(['r', 'r', 'r'])
})

test('the next process goes on with an answer that was cut', async () => {
  answerRequests(client('silence'), path).answer('t', 'r')
  await until('begun')
  const next = client('returned')
  answerRequests(next, path)
  await until('begun', 'returned')
  expect(next.asked).toEqual(['r'])
})

test('an answer that has its end is not given again', async () => {
  answerRequests(client('returned'), path).answer('t', 'r')
  await until('begun', 'returned')
  const next = client('returned')
  answerRequests(next, path).answer('t', 'r')
  expect(next.asked).toEqual([])
})

test('a request that was ended needs no answer', async () => {
  const ended = new RequestNotFoundError('t', { id: 'r', reason: 'one that was ended' })
  answerRequests(client(ended), path).answer('t', 'r')
  await until('begun', 'ended')
})

test('another answer, or a refusal for good, is written down', async () => {
  const other = new RequestNotFoundError('t', { id: 'r', reason: 'another answer', answered: true })
  const { answer } = answerRequests(client(other, new MessageRejectedError('t', 'no')), path)
  answer('t', 'r')
  await until('begun', 'refused')
  answer('t', 's')
  await until('begun', 'refused', 'begun', 'refused')
})
