import { expect, test } from 'vitest'
import type { ThreadHandle } from '../../src/client/index.js'
import type { Message } from '../../src/index.js'
import type { ScriptedAnswer } from '../../src/model/scripted-model.js'
import { ThreadTerminatedError } from '../../src/protocol/errors.js'
import type { ScriptedRequest } from '../../src/testing/index.js'
import { kindsRuns } from '../support/family-runs.js'
import { createGate } from '../support/gate.js'
import type { RecordedRun } from '../support/histories.js'
import {
  act,
  approve,
  calls,
  create,
  done,
  draft,
  failureOf,
  giveUp,
  order,
  resultOf,
  write,
} from '../support/kinds-replies.js'
import { marked } from '../support/marker.js'
import { factsOf, toolResults, transcript } from '../support/thread-facts.js'
import { until } from '../support/until.js'

kindsRuns((families) => {
  test('SA-A-07.3b SA-A-07.2b SA-A-07.10c a parent goes on, and the result comes later', async () => {
    const gate = createGate()
    const family = await families.start({
      voices: {
        lead: [calls(order('runner')), done, done],
        worker: [async () => (await gate.passed, draft)],
        judge: [approve()],
      },
    })
    const { thread } = family
    const child = await family.child()
    expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'stop_on_response', steps: 2 })
    expect(family.requests('lead')).toHaveLength(2)
    expect((await child.snapshot()).status).toBe('running')
    const [sent] = await toolResults(thread)
    expect(sent).toMatchObject({ tool_status: 'success', subagent_id: child.threadId })
    expect(sent?.content).toContain('works now; its result comes as a message.')
    gate.open()
    await until('the report', () => family.requests('lead').length === 3)
    await thread.waitUntilIdle()
    const text = resultOf(child.threadId, marked('Good'))
    const { messages } = await thread.messages({ includeSilent: true })
    expect(messages.filter(({ silent }) => silent)).toMatchObject([
      { role: 'user', content: text, subagent_id: child.threadId, status: 'completed' },
    ])
    expect((await transcript(thread)).map(({ content }) => content)).not.toContain(text)
    expect(family.requests('lead')[2]?.messages.at(-1)).toEqual({ role: 'user', text })
    await closed(child)
    expect((await thread.snapshot()).children).toMatchObject([{ status: 'completed', resumable: false }])
    expect(family.requests('lead')).toHaveLength(3)
  })

  test('SA-A-07.3c SA-A-07.10a SA-A-04.5 a second message reaches the same child with its history', async () => {
    const family = await families.start({
      voices: {
        lead: [calls(create('resident')), async () => calls(write(await childId(), 'Second')), done],
        worker: () => draft,
        judge: [approve('One'), approve('Two')],
      },
    })
    const childId = async (): Promise<string> => (await family.child()).threadId
    const { thread } = family
    await thread.waitUntilIdle()
    const child = await family.child()
    expect(await toolResults(thread)).toMatchObject([
      { name: 'subagent_create', content: marked('One'), tool_status: 'success' },
      { name: 'subagent_message', content: marked('Two'), tool_status: 'success' },
    ])
    const [first, second] = family.requests('worker')
    expect(first?.messages).toEqual([{ role: 'user', text: marked('First for Ada') }])
    expect(second?.messages.at(0)).toEqual({ role: 'user', text: marked('First for Ada') })
    expect(second?.messages.at(-1)).toEqual({ role: 'user', text: marked('Second') })
    expect(second?.threadId).toBe(child.threadId)
    expect(await family.children()).toHaveLength(1)
    // Its results were those of the calls, and nothing else.
    const { messages } = await thread.messages({ includeSilent: true })
    expect(messages.filter(({ silent }) => silent)).toEqual([])
    expect(family.requests('lead')).toHaveLength(3)
    expect((await child.snapshot()).status).toBe('idle')
    const registry = family.requests('lead')[2]?.messages.at(-1)?.text ?? ''
    expect(JSON.parse(registry.split('\n').at(-1) ?? '')).toMatchObject({
      ...{ reference: child.threadId, name: 'resident', threadName: 'Ada', status: 'completed' },
    })
  })

  test('SA-A-07.3d SA-A-07.13a messages to a busy child wait, and all are processed', async () => {
    const gate = createGate()
    const family = await families.start({
      voices: {
        lead: [
          calls(create('boarder')),
          async () => calls(write(await childId(), 'Second'), write(await childId(), 'Third')),
          done,
          done,
        ],
        worker: [
          async () => (await gate.passed, draft),
          ({ messages }) => ({ text: marked(`${messages.length}`) }),
        ],
        judge: [approve()],
      },
    })
    const childId = async (): Promise<string> => (await family.child()).threadId
    const { thread } = family
    const child = await family.child()
    await until('the request of the child', () => family.requests('worker').length === 1)
    await thread.waitUntilIdle()
    expect((await child.snapshot()).queue).toMatchObject([{ kind: 'message' }, { kind: 'message' }])
    expect(family.requests('lead')).toHaveLength(3)
    gate.open()
    await until('the report', () => family.requests('lead').length === 4)
    await thread.waitUntilIdle()
    await child.waitUntilIdle()
    const given = (await transcript(child)).filter(({ role, prompt }) => role === 'user' && prompt === null)
    expect(given.map(({ content }) => content)).toEqual(['First for Ada', 'Second', 'Third'].map(marked))
    const asked = [...family.requests('worker').slice(1), ...family.requests('judge')]
    const seen = asked.some(({ messages }) => {
      const texts = JSON.stringify(messages)
      return texts.includes('Second') && texts.includes('Third')
    })
    expect(seen).toBe(true)
    // One session has answered all three calls: it is one report.
    expect(family.requests('lead')[3]?.messages.at(-2)?.text).toBe(resultOf(child.threadId, marked('Good')))
    expect((await thread.snapshot()).children).toMatchObject([{ status: 'completed' }])
    expect((await child.snapshot()).status).toBe('idle')
  })

  test('a message to a resumable child may be for its side b', async () => {
    const family = await families.start({
      voices: {
        lead: [
          calls(create('second')),
          async () => (await finished(1), calls(write((await family.child()).threadId, 'Look again'))),
          done,
          () => done,
        ],
        worker: [draft],
        judge: [approve('One'), approve('Two')],
      },
    })
    const finished = async (sessions: number): Promise<void> => {
      await until(`${sessions} sessions`, () => family.requests('judge').length === sessions)
      await (await family.child()).waitUntilIdle()
    }
    const child = await family.child()
    await until('the second session', () => family.requests('judge').length === 2)
    await child.waitUntilIdle()
    expect(family.requests('worker')).toHaveLength(1)
    expect(family.requests('judge')[1]?.messages.at(-1)).toEqual({ role: 'user', text: marked('Look again') })
    expect((await transcript(child)).find(({ content }) => content === marked('Look again'))?.role).toBe(
      'assistant',
    )
    const told = async (): Promise<readonly (string | null)[]> => {
      const { messages } = await family.thread.messages({ includeSilent: true })
      return messages
        .filter(({ silent, status }) => silent && status === 'completed')
        .map(({ content }) => content)
    }
    await until('both reports', async () => (await told()).length === 2)
    expect(await told()).toEqual(['One', 'Two'].map((text) => resultOf(child.threadId, marked(text))))
    await family.thread.waitUntilIdle()
  })

  test('SA-R-10.5 SA-A-07.7c a child that is not resumable ends with its result', async () => {
    const family = await families.start({
      voices: {
        lead: [
          calls(order('helper')),
          async () => calls(write((await family.child()).threadId, 'One more')),
          calls(create('resident')),
          done,
        ],
        worker: () => draft,
        judge: () => approve(),
      },
    })
    const { thread } = family
    await thread.waitUntilIdle()
    const [disposable, persistent] = await family.children()
    if (disposable === undefined || persistent === undefined) throw new Error('Expected two children.')
    const [, refused] = await toolResults(thread)
    expect(refused).toMatchObject({ name: 'subagent_message', tool_status: 'error' })
    expect(refused?.content).toContain('takes no messages: it ends with its result')
    await closed(disposable)
    await expect(disposable.send(marked('Hello?'))).rejects.toThrow(ThreadTerminatedError)
    expect((await disposable.snapshot()).status).toBe('completed')
    expect((await persistent.workflow.describe()).status.name).toBe('RUNNING')
    expect((await persistent.snapshot()).status).toBe('idle')
  })

  test('SA-R-12.3 AR-EC.16 create, message, return, status, failure and end each leave an event', async () => {
    const family = await families.start({
      voices: {
        lead: [
          calls(create('resident')),
          async () => calls(write((await family.child()).threadId, 'Second')),
          done,
        ],
        worker: [draft, giveUp()],
        judge: [calls({ name: 'note', args: { text: marked('Half way') } }), approve()],
      },
    })
    await family.thread.waitUntilIdle()
    const child = await family.child()
    const facts = (await factsOf(family.thread)).filter(({ type }) => type.startsWith('subagent.'))
    expect(facts.map(({ type }) => type)).toEqual([
      'subagent.spawned',
      'subagent.input',
      'subagent.status',
      'subagent.completed',
      'subagent.input',
      'subagent.failed',
    ])
    expect(new Set(facts.map(({ childId }) => childId))).toEqual(new Set([child.threadId]))
    expect(await toolResults(family.thread)).toMatchObject([
      { tool_status: 'success' },
      { tool_status: 'error' },
    ])
    expect((await family.thread.snapshot()).children).toMatchObject([{ status: 'failed' }])
    expect((await child.snapshot()).status).toBe('idle')
    await child.terminate()
    const last = async (): Promise<string | undefined> => (await factsOf(family.thread)).at(-1)?.type
    await until('the end of the child', async () => (await last()) === 'subagent.closed')
  })

  test.each([
    { agent: 'left', fact: 'side a alone, as objects', sides: ['a'] },
    { agent: 'right', fact: 'side b alone, as objects', sides: ['b'] },
    { agent: 'even', fact: 'both sides, as names and as objects', sides: ['a', 'b'] },
  ])('SA-A-07.9 session tools that are bound to $fact stop, fail and tell', async ({ agent, sides }) => {
    const wishes = sides.flatMap((side) => [`${side} stops`, `${side} fails`])
    const family = await families.start({
      agent: 'chair',
      voices: {
        chair: [...wishes.map((wish) => calls(order(agent, { task: marked(wish) }))), done],
        peer_a: (request) => peer('a', request),
        peer_b: (request) => peer('b', request),
      },
    })
    /** Whom the task names notes something and ends the session. The other one only can try, where it has no session tools. */
    const peer = (side: string, { messages }: ScriptedRequest): ScriptedAnswer => {
      const [, named, wish] = /(a|b) (stops|fails)/.exec(messages.map(({ text }) => text).join('\n')) ?? []
      const has = (tool: string): boolean =>
        messages.some(({ toolResults: results }) => results?.some(({ name }) => name === tool))
      if (named !== side) return sides.length > 1 || has('approve') ? draft : approve('Not bound')
      // The other one comes first.
      if (agent === 'left' && !messages.some(({ text }) => text.includes('Draft'))) return draft
      if (!has('note')) return calls({ name: 'note', args: { text: marked(`${side} works`) } })
      return wish === 'stops' ? approve() : giveUp()
    }
    await family.thread.waitUntilIdle()
    const payloads = wishes.map((wish) => {
      const words =
        agent === 'even' && wish.startsWith('a') ? ['approve done', 'give_up done'] : ['Good', 'No']
      return wish.endsWith('stops')
        ? { tool_status: 'success', content: marked(words[0] ?? '') }
        : { tool_status: 'error', content: `Error: ${marked(words[1] ?? '')}` }
    })
    expect(await toolResults(family.thread)).toMatchObject(payloads)
    const facts = (await factsOf(family.thread)).map(({ type }) => type)
    expect(facts.filter((type) => type === 'subagent.status')).toHaveLength(wishes.length)
    const ends = wishes.map((wish) => ({ status: wish.endsWith('stops') ? 'completed' : 'failed' }))
    expect((await family.thread.snapshot()).children).toMatchObject(ends)
  })

  test('SA-R-08.2a SA-R-08.2b SA-A-07.10b SA-A-07.10d SA-A-07.10e SA-A-07.10f SA-A-07.12a files cross four ways', async () => {
    const bytes = (seed: number): Buffer =>
      Buffer.from(Array.from({ length: 512 }, (_, index) => (index * seed + 128) % 256))
    const [given, more, report, log] = [bytes(1), bytes(3), bytes(5), bytes(7)]
    const made = new Map([
      ['report', report],
      ['log', log],
    ])
    const file = (name: string, data: Buffer) => ({ name, mimeType: 'application/octet-stream', data })
    const childId = async (): Promise<string> => (await family.child()).threadId
    const second = async () => ({
      name: 'subagent_message',
      args: {
        ...{ referenceId: await childId(), message: marked('Second') },
        attachments: ['/attachments/more.bin'],
      },
    })
    const ending = (name: string, args: object, path: string) =>
      calls({ name, args: { ...args, files: [path] } })
    const family = await families.start({
      message: {
        content: marked('Hello'),
        attachments: [file('given.bin', given), file('more.bin', more)],
      },
      voices: {
        lead: [
          calls(create('boarder', 'Ada', { attachments: ['/attachments/given.bin'] })),
          done,
          async () => calls(await second()),
          done,
          done,
        ],
        worker: [
          calls(act('report')),
          draft,
          calls(act('log')),
          ending('give_up', { reason: marked('No') }, '/made/log.bin'),
        ],
        judge: [ending('approve', { summary: marked('Good') }, '/made/report.bin')],
      },
      tools: {
        act: async (state, { task }) => {
          const name = String(task)
          await state.writeFile(`/made/${name}.bin`, made.get(name) ?? '', 'application/octet-stream')
          return { status: 'success', result: marked('made') }
        },
      },
    })
    const { thread } = family
    const child = await family.child()
    const told = async (): Promise<readonly Message[]> => {
      const { messages } = await thread.messages({ includeSilent: true })
      return messages.filter(({ silent, status }) => silent && status === 'completed')
    }
    await until('both reports', async () => (await told()).length === 2)
    await thread.waitUntilIdle()
    // Each report is one message of the parent, in the exact words, with the paths of the parent, and its model has read it.
    const endings = [
      resultOf(child.threadId, marked('Good')),
      failureOf(child.threadId, marked('No')),
    ] as const
    const texts = ['report', 'log'].map(
      (name, index) =>
        `${endings[index]}\n\nFiles, by their paths in this thread:\n- /attachments/${name}.bin`,
    )
    expect((await told()).map(({ content }) => content)).toEqual(texts)
    const read = family.requests('lead').flatMap(({ messages }) => messages.map(({ text }) => text))
    for (const text of texts) expect(read.some((seen) => seen.startsWith(text))).toBe(true)
    // Four ways, byte by byte, where the receiver reads them.
    const received = (await transcript(child)).flatMap(({ attachments }) => attachments)
    expect(await bytesAt(child, received)).toEqual([given, more])
    expect(
      await bytesAt(
        thread,
        (await told()).flatMap(({ attachments }) => attachments),
      ),
    ).toEqual([report, log])
    // The activity that copies for the second message has ended before the child is signalled.
    const order = (await families.runs(thread.threadId)).flatMap(({ history }) =>
      crossings(history.events ?? []),
    )
    expect(order).toEqual(['prepareMessage begins', 'prepareMessage ends', 'the child is signalled'])
  })

  async function closed(thread: ThreadHandle): Promise<void> {
    await until('a closed workflow', async () => (await thread.workflow.describe()).status.name !== 'RUNNING')
  }
})

async function bytesAt(
  thread: ThreadHandle,
  files: readonly { readonly path: string }[],
): Promise<readonly Buffer[]> {
  return Promise.all(
    files.map(async ({ path }) => Buffer.from((await thread.readFile(path)) ?? new ArrayBuffer(0))),
  )
}

/** What a history says of the preparation of messages, and of signals to other threads. */
function crossings(events: NonNullable<RecordedRun['history']['events']>): readonly string[] {
  const preparing = new Set<string>()
  return events.flatMap((event) => {
    const scheduled = event.activityTaskScheduledEventAttributes?.activityType?.name
    if (scheduled === 'thread.prepareMessage') {
      preparing.add(String(event.eventId))
      return ['prepareMessage begins']
    }
    const completed = event.activityTaskCompletedEventAttributes
    if (completed != null && preparing.has(String(completed.scheduledEventId))) return ['prepareMessage ends']
    return event.signalExternalWorkflowExecutionInitiatedEventAttributes == null
      ? []
      : ['the child is signalled']
  })
}
