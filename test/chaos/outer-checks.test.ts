/** Checks of what is beside the transcript: files, histories, the doctor, answers. */
import { describe, expect, test } from 'vitest'

import { checkAnswers } from '../../chaos/checks/check-answers.js'
import { doctorFindings } from '../../chaos/checks/check-doctor.js'
import { checkEnds } from '../../chaos/checks/check-ends.js'
import { checkFiles } from '../../chaos/checks/check-files.js'
import { checkHistory } from '../../chaos/checks/check-histories.js'
import { attachedName, expectedBytes, stampedName } from '../../chaos/desk/chaos-files.js'
import type { Fact } from '../../chaos/checks/thread-record.js'
import type { MessageEnd } from '../../src/client/index.js'
import { transcriptRow } from '../support/transcript-row.js'
import { fact, historyOf, kinds, record, user } from './records.js'

describe('files', () => {
  const name = attachedName(1, 1)
  const check = async (bytes: Uint8Array | null, called = name) => {
    const path = `/attachments/${called}`
    const file = { id: 'f', type: 'file', path, name: called, mimeType: '', size: 1 } as const
    const rows = [{ ...user('m', 'Files'), attachments: [file] }]
    const threads = { get: () => ({ readFile: async () => bytes?.slice().buffer ?? null }) }
    const { findings, files } = await checkFiles(threads, record(rows))
    expect(files).toBe(1)
    return kinds(findings)
  }

  test('bytes that are those of the name are no finding', async () => {
    expect(await check(expectedBytes(name))).toEqual([])
    expect(await check(expectedBytes(name)?.toReversed() ?? null, stampedName(name))).toEqual([])
  })

  test('a file that is not there is lost', async () => {
    expect(await check(null)).toEqual(['lost'])
  })

  test('other bytes, or a name of nobody, are wrong', async () => {
    expect(await check(expectedBytes(name)?.slice(1) ?? null)).toEqual(['wrong'])
    expect(await check(expectedBytes(attachedName(1, 2)))).toEqual(['wrong'])
    expect(await check(new Uint8Array(1), 'other.bin')).toEqual(['wrong'])
  })
})

describe('histories', () => {
  /** As gRPC's client throws it. */
  const NOT_FOUND = { code: 5, details: 'workflow not found', metadata: {} }
  const fetching = (
    fetchHistory: () => ReturnType<typeof historyOf>,
    earlier: Readonly<Record<string, typeof fetchHistory>> = {},
  ) => {
    const getHandle = (_id: string, runId: string) => ({ fetchHistory: earlier[runId] ?? gone })
    return { get: () => ({ workflow: { fetchHistory, client: { getHandle } } }) }
  }
  const gone = () => Promise.reject(Object.assign(new Error('5 NOT_FOUND'), NOT_FOUND))
  const check = async (...events: Parameters<typeof historyOf>[0]) =>
    kinds(
      await checkHistory(
        fetching(() => historyOf(events)),
        record([]),
      ),
    )

  test('a task that timed out is no finding', async () => {
    expect(await check({ workflowTaskTimedOutEventAttributes: {} })).toEqual([])
  })

  test('a task that a signal overtook as it ended its run, or a hundred and one, is no finding', async () => {
    const failure = { message: 'UnhandledCommand' }
    for (const cause of [1, 17])
      expect(await check({ workflowTaskFailedEventAttributes: { cause, failure } })).toEqual([])
    expect(await check({ workflowTaskFailedEventAttributes: { cause: 2, failure } })).toEqual(['wrong'])
  })

  test('a task that failed is wrong', async () => {
    const failed = { workflowTaskFailedEventAttributes: { failure: { message: 'Nondeterminism' } } }
    expect(await check(failed, {}, failed)).toEqual(['wrong', 'wrong'])
  })

  test('a task that failed before the thread continued as new is wrong', async () => {
    const failed = { workflowTaskFailedEventAttributes: { failure: { message: 'Nondeterminism' } } }
    const after = (run: string) => ({
      workflowExecutionStartedEventAttributes: { continuedExecutionRunId: run },
    })
    const newest = () => historyOf([after('second')])
    const second = () => historyOf([after('first'), failed])
    expect(kinds(await checkHistory(fetching(newest, { second }), record([])))).toEqual(['wrong'])
    const first = () => historyOf([{ workflowExecutionStartedEventAttributes: {} }, failed])
    expect(await checkHistory(fetching(newest, { second, first }), record([]))).toHaveLength(2)
  })

  test.each([
    ['the text of a message', 'Do [program m0 W10]'],
    ['a text without a program', 'Only words #3'],
    ['the mark of a call', 'done <m0.i.0.1>'],
    ['an answer of the model', 'All is done. ~0d9e6f0c-8a5d-4c83-a5b6-2f1f5a0d7b11~'],
    ['what it streams', 'word0 word1 word2'],
    ['a prompt', 'You lead, by the old rules.'],
    ['an error of a tool', 'Error: Expected a second try.'],
  ])('T5 %s is wrong in a payload and in a failure', async (_what, text) => {
    const data = Buffer.from(JSON.stringify({ text }))
    const payload = { activityTaskScheduledEventAttributes: { input: { payloads: [{ data }] } } }
    const failure = { activityTaskFailedEventAttributes: { failure: { message: text } } }
    expect(await check(payload, failure)).toEqual(['wrong', 'wrong'])
    expect(await check({ activityTaskScheduledEventAttributes: { activityId: 'm0.0.1' } })).toEqual([])
  })

  test('a workflow that Temporal does not know is wrong, but of a subagent that never started', async () => {
    const unknown = fetching(gone)
    expect(kinds(await checkHistory(unknown, record([])))).toEqual(['wrong'])
    const unstarted = { parent: 'p', closed: true } as const
    expect(await checkHistory(unknown, record([], unstarted))).toEqual([])
    expect(kinds(await checkHistory(unknown, record([user('m', 'Hi')], unstarted)))).toEqual(['wrong'])
    const away = fetching(() => Promise.reject(new Error('14 UNAVAILABLE')))
    await expect(checkHistory(away, record([]))).rejects.toThrow('14 UNAVAILABLE')
  })
})

describe('doctor', () => {
  test('a command that says nothing is no finding', () => {
    expect(doctorFindings({ code: 0, output: '' })).toEqual([])
  })

  test('each line of the command is wrong, and so is its failure', () => {
    expect(kinds(doctorFindings({ code: 1, output: '{"kind":"lost_thread"}\n{"kind":"x"}\n' }))).toEqual([
      'wrong',
      'wrong',
    ])
    expect(kinds(doctorFindings({ code: 0, output: '{"kind":"x","fixed":true}\n' }))).toEqual(['wrong'])
    expect(kinds(doctorFindings({ code: 2, output: '' }))).toEqual(['wrong'])
  })
})

describe('answers', () => {
  const line = (kind: 'begun' | 'returned' | 'ended' | 'refused') =>
    ({ threadId: 't', requestId: 'approval_c', way: 'client', approved: true, kind }) as const

  test('an answer that was acknowledged or not needed is no finding', () => {
    expect(checkAnswers([line('begun'), line('returned')])).toEqual([])
    expect(checkAnswers([line('begun'), line('ended')])).toEqual([])
  })

  test('an answer that was never acknowledged is stuck', () => {
    expect(kinds(checkAnswers([line('begun')]))).toEqual(['stuck'])
  })

  test('an answer that was refused is wrong', () => {
    expect(kinds(checkAnswers([line('begun'), line('refused')]))).toEqual(['wrong'])
  })
})

describe('ends of submissions', () => {
  const delivered = { kind: 'delivered', runId: 'run_1' } as const
  const check = async (
    end: MessageEnd | null | undefined,
    facts: readonly Fact[],
    kept: readonly string[] = [],
  ) => {
    const message = async () =>
      end === undefined ? null : { message: transcriptRow({ id: 'm' }), source: 'client' as const, end }
    const records = new Map([['t', record([], { facts })]])
    const found = await checkEnds({ get: () => ({ message }) }, [{ threadId: 't', messageId: 'm' }], {
      ...{ records, kept: new Set(kept) },
    })
    return kinds(found)
  }
  const created = fact(1, 'message.created', { messageId: 'm' })
  const removed = fact(2, 'message.ended', { messageId: 'm' }, { end: 'removed' })

  test('one that the client reads and the log tells of is no finding', async () => {
    expect(await check(delivered, [created, fact(3, 'message.created', { messageId: 'other' })])).toEqual([])
    expect(await check({ kind: 'removed' }, [removed])).toEqual([])
    expect(await check(null, [], ['m'])).toEqual([])
  })

  test('none, two, another one or no message are found', async () => {
    expect(await check(undefined, [])).toEqual(['lost'])
    expect(await check(null, [])).toEqual(['stuck'])
    expect(await check(delivered, [created, removed])).toEqual(['doubled'])
    expect(await check(delivered, [removed])).toEqual(['wrong'])
    expect(await check(delivered, [])).toEqual(['wrong'])
  })
})
