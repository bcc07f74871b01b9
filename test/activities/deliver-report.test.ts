import { describe, expect, test } from 'vitest'
import { insertRequest } from '../../src/store/calls/requests.js'
import { removeFile } from '../../src/store/files/files.js'
import { requestTermination } from '../../src/store/threads/threads.js'
import { fact } from '../../src/protocol/facts.js'
import { NOW, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'
import { addChild, deliver, endSession, eventsOf, registered, say, writeText } from './family.js'

/** The parent's messages about `c`. */
async function told(desk: ActivityDesk) {
  return (await desk.transcript()).filter(({ subagent_id: id }) => id === 'c')
}

const types = async (desk: ActivityDesk) => (await eventsOf(desk.store, 't')).map(({ type }) => type)

/** The same worker, whose agent `pair` has no session tools. */
function withoutBindings({ dependencies }: ActivityDesk): ActivityDesk['dependencies'] {
  const { registry } = dependencies
  return {
    ...dependencies,
    registry: {
      ...registry,
      agent(name) {
        const agent = registry.agent(name)
        return agent && { ...agent, sideA: { prompt: 'clerk' } }
      },
    },
  }
}

describe('an implicit child tells its parent', () => {
  test('SA-R-08.2a SA-R-08.2c SA-A-07.10c a result is one silent message in the exact words', () =>
    withDesk({}, async (desk) => {
      await addChild(desk.store)
      await endSession(desk.store)
      const answer = await deliver(desk.dependencies)
      const [message, ...others] = await told(desk)
      expect(others).toEqual([])
      expect(answer).toEqual({ type: 'delivered', kind: 'result', messageId: message?.id })
      expect(message).toMatchObject({ role: 'user', silent: true, position: null, status: 'pending' })
      expect(message?.content).toBe('Subagent (reference: c) has returned the following result:\nFound it.')
      expect(await registered(desk.store)).toMatchObject({
        ...{ status: 'completed', last_report: 1, closed_at: null },
        report: {
          ...{ kind: 'result', text: 'Found it.', attachments: [] },
          ...{ messageId: message?.id, invocations: ['call'] },
        },
      })
      expect(await types(desk)).toEqual(['subagent.completed'])
    }))

  test('T8 one that was terminated before it started hears so with its report, each time', () =>
    withDesk({}, async (desk) => {
      await addChild(desk.store)
      await desk.store.write((tx) => requestTermination(tx, { threadId: 'c', reason: null, now: NOW }))
      const stopped = { kind: 'failure', reason: 'stopped', sessionCall: null } as const
      for (const _time of ['first', 'again'])
        expect(await deliver(desk.dependencies, stopped)).toMatchObject({
          type: 'delivered',
          terminated: true,
        })
      const closing = await deliver(desk.dependencies, { ...stopped, report: 2, closes: true })
      expect(closing).not.toHaveProperty('terminated')
    }))

  test('SA-A-07.10e a failure is one silent message in the exact words', () =>
    withDesk({}, async (desk) => {
      await addChild(desk.store)
      await endSession(desk.store, { kind: 'fail', message: 'No such place.' })
      const answer = await deliver(desk.dependencies, { kind: 'failure', reason: 'session_fail' })
      expect(answer).toMatchObject({ kind: 'failure' })
      const [message] = await told(desk)
      expect(message?.content).toBe('Subagent (reference: c) has reported a failure:\nNo such place.')
      expect(await registered(desk.store)).toMatchObject({ status: 'failed', report: { kind: 'failure' } })
      expect(await types(desk)).toEqual(['subagent.failed'])
    }))

  test.each<readonly [string, 'stop' | 'fail', string]>([
    ['SA-R-08.2b SA-A-07.10d', 'stop', 'has returned the following result'],
    ['SA-A-07.10f', 'fail', 'has reported a failure'],
  ])('%s files come along and are listed by the paths of the parent', (_ids, kind, words) =>
    withDesk({}, async (desk) => {
      await addChild(desk.store)
      await writeText(desk.store, '/attachments/b.txt')
      await writeText(desk.store, '/out/b.txt', 'c')
      await endSession(desk.store, { kind, paths: ['/out/b.txt', '/out/b.txt'] })
      await deliver(desk.dependencies)
      const [message] = await told(desk)
      expect(message?.content).toBe(
        `Subagent (reference: c) ${words}:\nFound it.\n\nFiles, by their paths in this thread:\n- /attachments/b-2.txt`,
      )
      expect(message?.attachments).toMatchObject([{ path: '/attachments/b-2.txt', size: 5 }])
      expect((await registered(desk.store))?.report?.attachments).toEqual(message?.attachments)
    }),
  )

  test('a file that is gone meanwhile is left out', () =>
    withDesk({}, async (desk) => {
      await addChild(desk.store)
      await writeText(desk.store, '/a.txt', 'c')
      await writeText(desk.store, '/b.txt', 'c')
      await endSession(desk.store, { paths: ['/a.txt', '/b.txt'] })
      await desk.store.write((tx) => removeFile(tx, 'c', '/a.txt'))
      await deliver(desk.dependencies)
      expect((await told(desk))[0]?.attachments).toMatchObject([{ path: '/attachments/b.txt' }])
    }))

  test('a text that no message holds is cut there and whole in the registry', () =>
    withDesk({}, async (desk) => {
      await addChild(desk.store)
      const message = 'ä'.repeat(700_000)
      await endSession(desk.store, { message })
      await deliver(desk.dependencies)
      const [row] = await told(desk)
      expect(Buffer.byteLength(row?.content ?? '')).toBeLessThan(1_050_000)
      expect(row?.content).toContain('cut: 1400000 bytes in all')
      expect((await registered(desk.store))?.report?.text).toBe(message)
    }))

  test('T5 the answer to the workflow holds no words', () =>
    withDesk({}, async (desk) => {
      await addChild(desk.store)
      await endSession(desk.store, { message: 'secret words' })
      expect(JSON.stringify(await deliver(desk.dependencies))).not.toContain('secret')
    }))

  test('T7 a report that is delivered twice is there once', () =>
    withDesk({}, async (desk) => {
      await addChild(desk.store)
      await endSession(desk.store)
      const first = await deliver(desk.dependencies)
      expect(await deliver(desk.dependencies)).toEqual(first)
      expect(await told(desk)).toHaveLength(1)
      expect(await types(desk)).toEqual(['subagent.completed'])
    }))

  test('T7 a session that nobody asked for is told as well', () =>
    withDesk({}, async (desk) => {
      await addChild(desk.store)
      await endSession(desk.store)
      await deliver(desk.dependencies, { invocations: [] })
      expect(await told(desk)).toHaveLength(1)
    }))

  test('T7 a full queue of the parent takes the report all the same', () =>
    withDesk({}, async (desk) => {
      await addChild(desk.store)
      await desk.send(...Array.from({ length: 1000 }, (_, index) => `message ${index}`))
      expect(await deliver(desk.dependencies)).toMatchObject({ type: 'delivered' })
    }))
})

describe('T7 a session without a payload', () => {
  test.each<readonly [string, string]>([
    ['max_steps', 'limit of steps'],
    ['max_session_turns', 'limit of turns'],
    ['hard_cap', 'of this runtime'],
    ['repeated_tool_error', 'same tool error'],
    ['hook_blocked', 'a hook kept it'],
    ['model_failed', 'model could not answer'],
    ['definition_missing', 'no worker has the definition'],
    ['blocked', 'could not be carried out.'],
    ['stopped', 'interrupted'],
    ['stop_on_response', 'without a call of its session tool'],
    ['of_a_later_version', '(of_a_later_version).'],
  ])('that ended by %s is a failure that says so', (reason, words) =>
    withDesk({}, async (desk) => {
      await addChild(desk.store)
      await say(desk.store, 'The last words.')
      const answer = await deliver(desk.dependencies, { reason, sessionCall: null })
      expect(answer).toMatchObject({ kind: 'failure', messageId: expect.any(String) })
      const [message] = await told(desk)
      expect(message?.content).toContain(`The session ended without a result (${reason})`)
      expect(message?.content).toContain(words)
      expect(await registered(desk.store)).toMatchObject({ status: 'failed' })
    }),
  )

  test.each([
    ['repeated_tool_error', ' The last error, of deliver: There is no file /a.txt.'],
    ['model_failed', ' The model "chat" gave no answer because it has no key.'],
    ['hook_blocked', ' The model "chat" gave no answer because it has no key.'],
    ['max_steps', 'its limit of steps.'],
  ])('that ended by %s tells what failed last', (reason, words) =>
    withDesk({}, async (desk) => {
      await addChild(desk.store)
      const failed = { role: 'tool', name: 'deliver', toolStatus: 'error' } as const
      await say(desk.store, 'An error before.', failed)
      await say(desk.store, 'There is no file /a.txt.', failed)
      await say(desk.store, 'Of another run.', { ...failed, run: 2 })
      const ended = 'The model "chat" gave no answer because it has no key. Send a message to try again.'
      await say(desk.store, ended, { status: 'failed' })
      await deliver(desk.dependencies, { reason, sessionCall: null })
      const [message] = await told(desk)
      expect(message?.content?.endsWith(words)).toBe(true)
    }),
  )

  test.each(['max_session_turns', 'stop_on_response', 'stop_tool'])(
    'without session tools its last words are the result (%s)',
    (reason) =>
      withDesk({}, async (desk) => {
        await addChild(desk.store)
        await say(desk.store, 'of an earlier run', { run: 0 })
        await say(desk.store, 'side A')
        await say(desk.store, 'side B at last', { role: 'user', side: 'b' })
        await say(desk.store, 'within a tool', { depth: 1 })
        await say(desk.store, 'whispered', { silent: true })
        await say(desk.store, 'from outside', { role: 'user', side: null })
        await say(desk.store, 'the run was ended', { status: 'failed' })
        const answer = await deliver(withoutBindings(desk), { reason, sessionCall: null })
        expect(answer).toMatchObject({ kind: 'result' })
        expect((await registered(desk.store))?.report?.text).toBe('side B at last')
      }),
  )

  test('P4 pieces of a cut answer are one result, which says where it is cut off', () =>
    withDesk({}, async (desk) => {
      await addChild(desk.store)
      await say(desk.store, 'Another answer.', { finishReason: 'stop' })
      await say(desk.store, 'One, two,', { finishReason: 'length' })
      await say(desk.store, ' three,', { finishReason: 'length' })
      await deliver(withoutBindings(desk), { reason: 'answer_cut', sessionCall: null })
      expect((await registered(desk.store))?.report?.text).toBe(
        'One, two, three,\n\n(The answer ends here, because it reached its limit of length.)',
      )
    }))

  test.each(['max_steps', 'hard_cap', 'stopped', 'model_failed'])(
    'without session tools %s is a failure still',
    (reason) =>
      withDesk({}, async (desk) => {
        await addChild(desk.store)
        await say(desk.store, 'side A')
        const answer = await deliver(withoutBindings(desk), { reason, sessionCall: null })
        expect(answer).toMatchObject({ kind: 'failure' })
      }),
  )

  test('without session tools and words it says that there are none', () =>
    withDesk({}, async (desk) => {
      await addChild(desk.store)
      await deliver(withoutBindings(desk), { reason: 'max_session_turns', sessionCall: null })
      expect((await registered(desk.store))?.report?.text).toContain('without a text')
    }))

  test('that waits for variables names the code and what is missing', () =>
    withDesk({}, async (desk) => {
      await addChild(desk.store)
      const detail = { agent: 'pair', required: ['A', 'B', 'C'], missing: ['A', 'C'] }
      await desk.store.write((tx) =>
        insertRequest(tx, {
          ...{ thread_id: 'c', id: 'variables_1', kind: 'variables', detail, requested_at: NOW },
        }),
      )
      await deliver(desk.dependencies, { reason: 'blocked', kind: 'failure', sessionCall: null })
      const { kind, text } = (await registered(desk.store))?.report ?? {}
      expect(kind).toBe('failure')
      expect(text).toMatch(/^env_required: .*: A, C\. Once somebody has set them, it can be asked again\.$/)
    }))
})

describe('a child that says nothing by itself', () => {
  test.each<readonly ['stop' | 'fail', string]>([
    ['stop', 'completed'],
    ['fail', 'failed'],
  ])('SA-A-07.10h an explicit one leaves no message after %s', (kind, status) =>
    withDesk({}, async (desk) => {
      await addChild(desk.store, { parent_communication: 'explicit' })
      await writeText(desk.store, '/a.txt', 'c')
      await endSession(desk.store, { kind, paths: ['/a.txt'] })
      expect(await deliver(desk.dependencies)).toEqual({ type: 'delivered', kind: 'notice', messageId: null })
      expect(await told(desk)).toEqual([])
      const child = await registered(desk.store)
      expect(child).toMatchObject({ status, report: null, last_report: 1 })
      expect(await types(desk)).toEqual([`subagent.${status}`])
    }),
  )

  test('one of a group is kept for all of them', () =>
    withDesk({}, async (desk) => {
      await addChild(desk.store, { resumable: false, spawn_group_id: 'call' })
      await writeText(desk.store, '/a.txt', 'c')
      await endSession(desk.store, { paths: ['/a.txt'] })
      const answer = await deliver(desk.dependencies, { closes: true })
      expect(answer).toEqual({ type: 'delivered', kind: 'result', messageId: null })
      expect(await told(desk)).toEqual([])
      const report = { text: 'Found it.', attachments: [{ path: '/attachments/a.txt' }] }
      expect(await registered(desk.store)).toMatchObject({ status: 'completed', report })
    }))

  test('a later session of a child of a group is told', () =>
    withDesk({}, async (desk) => {
      await addChild(desk.store, { spawn_group_id: 'call' })
      await endSession(desk.store)
      await deliver(desk.dependencies, { invocations: ['call_5_1_0'] })
      expect(await told(desk)).toHaveLength(1)
    }))

  test('T7 an idle one that closes is closed in the registry only', () =>
    withDesk({}, async (desk) => {
      await addChild(desk.store)
      const closing = { invocations: [], closes: true, sessionCall: null, reason: 'terminated' } as const
      expect(await deliver(desk.dependencies, { ...closing, kind: 'failure' })).toEqual({
        ...{ type: 'delivered', kind: 'notice', messageId: null },
      })
      expect(await told(desk)).toEqual([])
      expect(await registered(desk.store)).toMatchObject({ status: 'terminated', closed_at: NOW * 1000 })
      const [event] = await eventsOf(desk.store, 't')
      expect(event).toMatchObject({
        type: 'subagent.closed',
        payload: { reference: 'c', status: 'terminated' },
      })
    }))

  test('what it told before stays when it closes', () =>
    withDesk({}, async (desk) => {
      await addChild(desk.store)
      await endSession(desk.store)
      await deliver(desk.dependencies)
      await deliver(desk.dependencies, { report: 2, invocations: [], closes: true, sessionCall: null })
      expect(await registered(desk.store)).toMatchObject({
        status: 'terminated',
        report: { text: 'Found it.' },
      })
    }))
})

describe('T7 the end of a child', () => {
  test.each<readonly [string, string, string]>([
    ['session_stop', 'call_1', 'completed'],
    ['terminated', '', 'terminated'],
    ['max_steps', '', 'failed'],
  ])('by %s is told and closes its row', (reason, sessionCall, status) =>
    withDesk({}, async (desk) => {
      await addChild(desk.store, { resumable: false })
      await endSession(desk.store)
      const ended = { reason, closes: true, sessionCall: sessionCall === '' ? null : sessionCall }
      expect(await deliver(desk.dependencies, ended)).toMatchObject({ messageId: expect.any(String) })
      expect(await registered(desk.store)).toMatchObject({ status, closed_at: NOW * 1000 })
    }),
  )

  test('a call that timed out has closed it: nobody reads a message', () =>
    withDesk({}, async (desk) => {
      await addChild(desk.store, { resumable: false, status: 'terminated', closed_at: 5 })
      await endSession(desk.store)
      const answer = await deliver(desk.dependencies, { closes: true })
      expect(answer).toEqual({ type: 'delivered', kind: 'notice', messageId: null })
      expect(await told(desk)).toEqual([])
      expect(await registered(desk.store)).toMatchObject({
        status: 'terminated',
        closed_at: 5,
        last_report: 0,
      })
    }))

  test.each<readonly [string, object]>([
    ['was told to end', { terminate_requested_at: 1 }],
    ['is closed', { closed_at: 1 }],
  ])('a parent that %s takes no report', (_what, patch) =>
    withDesk({}, async (desk) => {
      await addChild(desk.store)
      await endSession(desk.store)
      await desk.store.write((tx) => tx.updateTable('threads').set(patch).where('id', '=', 't').execute())
      expect(await deliver(desk.dependencies)).toEqual({ type: 'parent_gone' })
      expect(await deliver(desk.dependencies)).toEqual({ type: 'parent_gone' })
      expect(await told(desk)).toEqual([])
      expect(await registered(desk.store)).toMatchObject({ status: 'running', last_report: 0 })
    }),
  )

  test('a parent that is not in the store takes no report', () =>
    withDesk({}, async (desk) => {
      await addChild(desk.store)
      const parent = { threadId: 'nobody', callId: 'call' }
      expect(await deliver(desk.dependencies, { parent })).toEqual({ type: 'parent_gone' })
    }))
})

test('T7 a report that is asked for again stores what came meanwhile, once', () =>
  withDesk({}, async (desk) => {
    await addChild(desk.store)
    const first = fact('side.completed', { side: 'a', reason: null })
    const answer = await deliver(desk.dependencies, { facts: [first] })
    const warning = fact('runtime.warning', { code: 'signal_unknown' })
    const again = { facts: [first, warning] }
    expect(await deliver(desk.dependencies, again)).toEqual(answer)
    expect(await deliver(desk.dependencies, again)).toEqual(answer)
    const events = await eventsOf(desk.store, 'c')
    expect(events.map(({ type }) => type)).toEqual(['side.completed', 'runtime.warning'])
  }))
