import { expect, test } from 'vitest'
import type { ThreadHandle } from '../../src/client/index.js'
import { ThreadTerminatedError } from '../../src/protocol/errors.js'
import { familyRuns } from '../support/family-runs.js'
import type { Family } from '../support/family-runs.js'
import { createGate } from '../support/gate.js'
import { marked } from '../support/marker.js'
import { toolResults, transcript } from '../support/thread-facts.js'
import { until } from '../support/until.js'

const order = { toolCalls: [{ name: 'pair', args: { task: marked('Write') } }] }
const draft = { text: marked('Draft') }
const done = { text: marked('Done') }

/** Each way for a child to end is told to its parent once (T7). */
familyRuns((families) => {
  /** A parent that waits for a child whose model does not answer. */
  async function waiting(): Promise<{ family: Family; child: ThreadHandle }> {
    const gate = createGate()
    const family = await families.start({
      voices: {
        planner: [order, done],
        writer: async () => (await gate.passed, draft),
        editor: () => ({ toolCalls: [{ name: 'approve', args: { summary: marked('Good') } }] }),
      },
    })
    const child = await family.child()
    await until('the request of the child', () => family.requests('writer').length === 1)
    return { family, child }
  }

  test('SA-R-08.3 SA-A-07.10g a status tool changes the entry, and the child goes on', async () => {
    const gate = createGate()
    const note = { name: 'note', args: { text: marked('Half way') } }
    const approve = { name: 'approve', args: { summary: marked('Good') } }
    const family = await families.start({
      voices: {
        planner: [order, done],
        writer: [draft],
        editor: [{ toolCalls: [note] }, async () => (await gate.passed, { toolCalls: [approve] })],
      },
    })
    await until('the next request of the child', () => family.requests('editor').length === 2)
    const { children } = await family.thread.snapshot()
    expect(children).toMatchObject([{ name: 'pair', status: marked('Half way') }])
    expect(await toolResults(family.thread)).toEqual([])
    gate.open()
    await family.thread.waitUntilIdle()
    expect((await family.thread.snapshot()).children).toMatchObject([{ status: 'completed' }])
    expect(await toolResults(family.thread)).toMatchObject([{ content: marked('Good') }])
  })

  test('SA-R-10.4 a terminated child is terminated in the registry of its parent', async () => {
    const { family, child } = await waiting()
    await child.terminate({ reason: marked('Enough') })
    await family.thread.waitUntilIdle()
    await closed(child)
    expect((await family.thread.snapshot()).children).toMatchObject([{ status: 'terminated' }])
    expect((await child.snapshot()).status).toBe('terminated')
    expect(await toolResults(family.thread)).toMatchObject([
      { tool_status: 'error', content: expect.stringContaining('ended without a result (terminated)') },
    ])
    expect(family.requests('planner')[1]?.messages.at(-1)?.toolResults).toMatchObject([{ isError: true }])
    expect(family.requests('planner')).toHaveLength(2)
  })

  test('SA-A-07.13b terminate of a parent ends its child first', async () => {
    const { family, child } = await waiting()
    await family.thread.terminate({ reason: marked('Enough') })
    await closed(family.thread)
    // The child was told before its parent closed.
    const parent = (await families.runs(family.thread.threadId)).at(-1)?.history.events ?? []
    const told = parent.findIndex(
      (event) => event.externalWorkflowExecutionCancelRequestedEventAttributes != null,
    )
    const ended = parent.findIndex((event) => event.workflowExecutionCanceledEventAttributes != null)
    expect(told).toBeGreaterThan(0)
    expect(ended).toBeGreaterThan(told)
    await closed(child)
    expect((await child.workflow.describe()).status.name).toBe('CANCELLED')
    expect((await child.snapshot()).terminated).toEqual(expect.any(Number))
    expect((await family.thread.snapshot()).children).toMatchObject([{ status: 'terminated' }])
    await expect(child.send(marked('Hello?'))).rejects.toThrow(ThreadTerminatedError)
    expect(family.requests('planner')).toHaveLength(1)
    const [result] = await toolResults(family.thread)
    expect(result).toMatchObject({ name: 'pair', tool_status: 'error' })
  })

  test('K-10 PL-CX.6 PL-CX.8 a stop of the parent stops the child, whose report follows', async () => {
    const { family, child } = await waiting()
    await family.thread.stop()
    expect(await family.thread.waitUntilIdle()).toMatchObject({ status: 'stopped', reason: 'stopped' })
    const [result] = await toolResults(family.thread)
    expect(result).toMatchObject({ name: 'pair', tool_status: 'error' })
    expect(result?.content).toContain('interrupted')
    await closed(child)
    expect((await child.snapshot()).lastRun).toMatchObject({ reason: 'stopped' })
    // A report does not clear the stop flag.
    await until('the report', async () => (await family.thread.snapshot()).queue.length === 1)
    expect((await family.thread.snapshot()).queue).toMatchObject([{ kind: 'report' }])
    expect(family.requests('planner')).toHaveLength(1)
    await family.thread.continue()
    await family.thread.waitUntilIdle()
    const report =
      `Subagent (reference: ${child.threadId}) has reported a failure:\n` +
      'The session ended without a result (stopped): it was interrupted.'
    const { messages } = await family.thread.messages({ includeSilent: true })
    expect(messages.filter(({ silent }) => silent)).toMatchObject([
      { role: 'user', content: report, subagent_id: child.threadId, status: 'completed' },
    ])
    expect((await transcript(family.thread)).map(({ content }) => content)).not.toContain(report)
    expect(family.requests('planner')[1]?.messages.at(-1)).toMatchObject({ role: 'user', text: report })
    expect(await toolResults(family.thread)).toHaveLength(1)
  })

  async function closed(thread: ThreadHandle): Promise<void> {
    await until('a closed workflow', async () => (await thread.workflow.describe()).status.name !== 'RUNNING')
  }
})
