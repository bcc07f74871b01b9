import { expect, test } from 'vitest'
import { defineAgent, defineModel, definePrompt, registry } from '../../src/index.js'
import { ConfigError, ThreadTerminatedError } from '../../src/protocol/errors.js'
import { familyRuns } from '../support/family-runs.js'
import { createGate } from '../support/gate.js'
import { activityNames } from '../support/histories.js'
import { marked } from '../support/marker.js'
import { factsOf, factTypes, toolResults, transcript } from '../support/thread-facts.js'
import { until } from '../support/until.js'

const order = (args: object = {}, name = 'pair') => ({ name, args: { task: marked('Write'), ...args } })
const draft = { text: marked('Draft') }
const approve = (summary = 'Good') => ({
  toolCalls: [{ name: 'approve', args: { summary: marked(summary) } }],
})
const done = { text: marked('Done') }

familyRuns(
  (families) => {
    test('SA-R-07.0 KP-03.0 SA-A-02.2c SA-A-06.2 an exposed dual_ai agent runs as a child thread', async () => {
      const family = await families.start({
        voices: { planner: [{ toolCalls: [order()] }, done], writer: [draft], editor: [approve()] },
      })
      expect(await family.thread.waitUntilIdle()).toMatchObject({ reason: 'stop_on_response', steps: 2 })
      const [parent] = await families.runs(family.thread.threadId)
      const child = await family.child()
      const runs = await families.runs(family.thread.threadId)
      const started = runs.flatMap(({ history }) =>
        (history.events ?? []).flatMap((event) => {
          const { startChildWorkflowExecutionInitiatedEventAttributes: initiated } = event
          return initiated == null ? [] : [initiated]
        }),
      )
      expect(started.map(({ workflowId }) => workflowId)).toEqual([child.threadId])
      expect(parent?.workflowId).not.toBe(child.threadId)
      // No human input: the child's only message from outside is that of its parent.
      const sent = (await transcript(child)).filter(({ prompt, role }) => prompt === null && role === 'user')
      expect(sent).toMatchObject([{ content: marked('Write') }])
      expect(await child.snapshot()).toMatchObject({ status: 'completed', agent: 'pair' })
      expect(() =>
        registry({
          models: [defineModel({ name: 'voice', provider: { languageModel: () => never() }, model: 'x' })],
          prompts: [
            definePrompt({
              name: 'boss',
              toolDescription: 'Leads',
              prompt: 'You lead.',
              model: 'voice',
              // Without what only a subagent has, it would be a handoff.
              tools: [{ name: 'helper', blocking: true }],
            }),
          ],
          agents: [
            defineAgent({ name: 'boss', sideA: { prompt: 'boss' } }),
            defineAgent({
              name: 'helper',
              sideA: { prompt: 'boss' },
              exposeAsTool: true,
              toolDescription: 'Helps',
            }),
          ],
          tools: {},
        }),
      ).toThrow(ConfigError)
    })

    test('a child is started in the store of its parent', async () => {
      const family = await families.start({
        voices: { planner: [{ toolCalls: [order()] }, done], writer: [draft], editor: [approve()] },
      })
      await family.thread.waitUntilIdle()
      const child = await family.child()
      const [run] = await families.runs(child.threadId)
      const { input, memo } = run?.history.events?.[0]?.workflowExecutionStartedEventAttributes ?? {}
      expect(decoded(input?.payloads?.[0])).toMatchObject({ store: families.env.store.id })
      expect(decoded(memo?.fields?.['store'])).toBe(families.env.store.id)
    })

    test('SA-R-07.1a AR-ID.3 AR-ID.10 AR-RM.5 AR-RM.8b a child knows its parent and the parent its child', async () => {
      const gate = createGate()
      const family = await families.start({
        voices: {
          planner: [{ toolCalls: [order({ title: 'Ada' })] }, done],
          writer: [async () => (await gate.passed, draft)],
          editor: [approve()],
        },
      })
      const child = await family.child()
      const { threadId } = family.thread
      await until('the request of the child', () => family.requests('writer').length === 1)
      expect((await child.workflow.describe()).parentExecution?.workflowId).toBe(threadId)
      expect(await child.snapshot()).toMatchObject({ parent: threadId, root: threadId, status: 'running' })
      expect(await family.thread.snapshot()).toMatchObject({ parent: null, root: threadId })
      const listed: string[] = []
      for await (const { threadId: id } of families.env.threads.list({ root: threadId })) listed.push(id)
      expect(listed.toSorted()).toEqual([threadId, child.threadId].toSorted())
      const entry = { reference: child.threadId, name: 'pair', status: 'running' }
      expect((await family.thread.snapshot()).children).toMatchObject([entry])
      gate.open()
      await family.thread.waitUntilIdle()
      await family.thread.waitUntilIdle()
      expect((await family.thread.snapshot()).children).toMatchObject([{ ...entry, status: 'completed' }])
      const spawned = (await factsOf(family.thread)).filter(({ type }) => type === 'subagent.spawned')
      expect(spawned.map(({ childId }) => childId)).toEqual([child.threadId])
    })

    test('SA-R-07.4a SA-R-07.4c arguments become the first message and the name', async () => {
      const family = await families.start({
        voices: {
          planner: [{ toolCalls: [order({ title: 'Ada' })] }, done],
          writer: [draft],
          editor: [approve()],
        },
      })
      await family.thread.waitUntilIdle()
      expect(family.requests('writer')[0]?.messages).toEqual([{ role: 'user', text: marked('Write') }])
      expect((await family.thread.snapshot()).children).toMatchObject([
        { name: 'pair', title: 'Desk', threadName: 'Ada', description: 'Two who write', resumable: false },
      ])
      for await (const { threadId, title } of families.env.threads.list({ parent: family.thread.threadId }))
        expect([threadId, title]).toEqual([(await family.child()).threadId, 'Ada'])
    })

    test('without bindings the arguments are the first message', async () => {
      const family = await families.start({
        voices: {
          planner: [{ toolCalls: [order({}, 'bare_pair')] }, done],
          writer: [draft],
          editor: [approve()],
        },
      })
      await family.thread.waitUntilIdle()
      const [message] = family.requests('writer')[0]?.messages ?? []
      expect(JSON.parse(message?.text ?? '')).toEqual({ task: marked('Write') })
      expect((await family.thread.snapshot()).children).toMatchObject([{ threadName: 'bare_pair' }])
    })

    test("SA-A-07.3a SA-A-04.3 SA-A-04.5 a blocking child's payload is the tool result", async () => {
      let childStatus = ''
      const statusOf = async (): Promise<string> => (await (await family.child()).snapshot()).status
      const gate = createGate()
      const family = await families.start({
        voices: {
          planner: [{ toolCalls: [order()] }, async () => ((childStatus = await statusOf()), done)],
          writer: [async () => (await gate.passed, draft)],
          editor: [{ text: marked('Chatter'), ...approve('The summary') }],
        },
      })
      const child = await family.child()
      await until('the request of the child', () => family.requests('writer').length === 1)
      expect((await family.thread.snapshot()).run?.doing).toBe(`child ${child.threadId}`)
      expect(family.requests('planner')).toHaveLength(1)
      gate.open()
      await family.thread.waitUntilIdle()
      expect(await toolResults(family.thread)).toMatchObject([
        { content: marked('The summary'), tool_status: 'success', subagent_id: child.threadId },
      ])
      const [result] = family.requests('planner')[1]?.messages.at(-1)?.toolResults ?? []
      expect(result).toMatchObject({ name: 'pair', text: marked('The summary'), isError: false })
      // The report is that result and nothing else: no further row, no further run.
      expect((await family.thread.messages({ includeSilent: true })).messages).toHaveLength(4)
      expect((await transcript(family.thread)).map(({ position }) => position)).toEqual([1, 2, 3, 4])
      // When the parent's model is asked again the child is closed: it takes nothing any more.
      expect(childStatus).toBe('completed')
      expect(family.requests('planner')).toHaveLength(2)
    })

    test('SA-A-03.7 SA-A-03.8 SA-A-04.2 session tools close the child as completed or failed', async () => {
      const family = await families.start({
        voices: {
          planner: [{ toolCalls: [order()] }, { toolCalls: [order()] }, done],
          writer: [
            draft,
            { text: marked('Chatter'), toolCalls: [{ name: 'give_up', args: { reason: marked('No') } }] },
          ],
          editor: [approve()],
        },
      })
      await family.thread.waitUntilIdle()
      const [good, bad] = await family.children()
      expect((await good?.snapshot())?.status).toBe('completed')
      expect((await bad?.snapshot())?.status).toBe('failed')
      expect((await family.thread.snapshot()).children).toMatchObject([
        { status: 'completed' },
        { status: 'failed' },
      ])
      expect((await toolResults(family.thread))[1]).toMatchObject({
        content: `Error: ${marked('No')}`,
        tool_status: 'error',
      })
      const types = await factTypes(family.thread)
      for (const type of ['subagent.spawned', 'subagent.input', 'subagent.completed', 'subagent.failed'])
        expect(types).toContain(type)
    })

    test.each([
      { cap: 'maxSteps', agent: 'capped_pair', reason: 'max_steps' },
      { cap: 'the hard cap of turns', agent: 'endless_pair', reason: 'hard_cap' },
    ])('a child that ends at $cap reports a failure', async ({ agent, reason }) => {
      const family = await families.start({
        voices: {
          planner: [{ toolCalls: [order({}, agent)] }, done],
          writer: () => draft,
          editor: () => ({ text: marked('Again') }),
        },
      })
      await family.thread.waitUntilIdle()
      const [result] = await toolResults(family.thread)
      expect(result).toMatchObject({ tool_status: 'error' })
      expect(result?.content).toContain(`Error: The session ended without a result (${reason})`)
      expect((await (await family.child()).snapshot()).status).toBe('failed')
    })

    test('SA-A-07.2c A produces, B rejects once, then approves', async () => {
      const family = await families.start({
        voices: {
          planner: [{ toolCalls: [order({}, 'asset_subagent')] }, done],
          asset_worker: [
            { toolCalls: [{ name: 'render' }] },
            { text: marked('A tree') },
            { text: marked('A tree from above') },
          ],
          asset_reviewer: [
            { text: marked('Seen from the side: again') },
            { toolCalls: [{ name: 'approve_asset', args: { summary: marked('A fine tree') } }] },
          ],
        },
      })
      await family.thread.waitUntilIdle()
      expect((await toolResults(family.thread))[0]).toMatchObject({ content: marked('A fine tree') })
      expect(family.requests('asset_reviewer')).toHaveLength(2)
      const texts = (await transcript(await family.child())).map(({ content }) => content)
      expect(texts).toEqual(expect.arrayContaining([marked('A tree'), marked('A tree from above')]))
    })

    test('SA-A-07.1b an agent that is not listed cannot be called', async () => {
      const family = await families.start({
        voices: { planner: [{ toolCalls: [order({}, 'unlisted_pair')] }, done] },
      })
      await family.thread.waitUntilIdle()
      const [result] = await toolResults(family.thread)
      expect(result).toMatchObject({ tool_status: 'error' })
      expect(result?.content).toContain('There is no tool "unlisted_pair".')
      expect(await family.children()).toEqual([])
      expect(activityNames(await families.runs(family.thread.threadId))).not.toContain('thread.prepareChild')
    })

    test('arguments that fail the schema make no child', async () => {
      const family = await families.start({
        voices: { planner: [{ toolCalls: [{ name: 'pair', args: { tusk: 1 } }] }, done] },
      })
      await family.thread.waitUntilIdle()
      expect((await toolResults(family.thread))[0]).toMatchObject({ tool_status: 'error' })
      expect(await family.children()).toEqual([])
    })

    test('SA-A-07.1c SA-A-07.2a parent and child share nothing but the call', async () => {
      const family = await families.start({
        voices: {
          planner: [{ toolCalls: [order()] }, done, { text: marked('Still here') }],
          writer: [{ toolCalls: [{ name: 'search', args: { query: marked('x') } }] }, draft],
          editor: [approve()],
        },
        tools: {
          search: async (state) => {
            await state.writeFile('/notes.txt', marked('child only'), 'text/plain')
            expect(await state.readFile('/plan.txt')).toBeNull()
            return { status: 'success', result: marked('found') }
          },
        },
        message: { content: marked('Hello'), attachments: [] },
      })
      await family.thread.writeFile('/plan.txt', marked('parent only'), 'text/plain')
      await family.thread.waitUntilIdle()
      const child = await family.child()
      const offered = (prompt: string): readonly string[] =>
        family.requests(prompt)[0]?.tools.map(({ name }) => name) ?? []
      expect(offered('planner')).toContain('plan')
      expect(
        offered('planner').filter((name) => name !== 'approve' && offered('writer').includes(name)),
      ).toEqual([])
      expect(await family.thread.readFile('/notes.txt')).toBeNull()
      expect(await child.readFile('/plan.txt')).toBeNull()
      const ids = (await transcript(family.thread)).map(({ id }) => id)
      expect((await transcript(child)).filter(({ id }) => ids.includes(id))).toEqual([])
      // The child has ended; its parent goes on.
      await family.thread.send(marked('And you?'))
      expect((await family.thread.waitUntilIdle()).reply?.content).toBe(marked('Still here'))
    })

    test('a child that delivered is closed and refuses messages', async () => {
      const family = await families.start({
        voices: { planner: [{ toolCalls: [order()] }, done], writer: [draft], editor: [approve()] },
      })
      await family.thread.waitUntilIdle()
      const child = await family.child()
      await until('a closed child', async () => (await child.workflow.describe()).status.name !== 'RUNNING')
      expect((await child.workflow.describe()).status.name).toBe('COMPLETED')
      const before = await transcript(child)
      await expect(child.send(marked('One more'))).rejects.toThrow(ThreadTerminatedError)
      expect(await transcript(child)).toEqual(before)
      expect(before.length).toBeGreaterThan(2)
    })

    test('SA-A-07.1e three levels of agents hand their results up', async () => {
      const family = await families.start({
        voices: {
          planner: [{ toolCalls: [order({}, 'ladder')] }, done],
          climber: [{ toolCalls: [order({}, 'ladder')] }, approve('The bottom'), approve('The middle')],
          watcher: [],
        },
      })
      await family.thread.waitUntilIdle()
      const child = await family.child()
      const [grandchild] = (await child.snapshot()).children
      expect((await toolResults(child))[0]).toMatchObject({
        content: marked('The bottom'),
        subagent_id: grandchild?.reference,
      })
      expect((await toolResults(family.thread))[0]).toMatchObject({ content: marked('The middle') })
    })

    test('agents nest eight deep and no deeper', async () => {
      const family = await families.start({
        voices: {
          planner: [{ toolCalls: [order({}, 'ladder')] }, done],
          climber: ({ messages }) =>
            messages.some(({ role }) => role === 'tool') ? approve() : { toolCalls: [order({}, 'ladder')] },
          watcher: [],
        },
      })
      await family.thread.waitUntilIdle()
      let depth = 0
      let [next] = await family.children()
      let last = family.thread
      while (next !== undefined) {
        depth += 1
        last = next
        const [entry] = (await next.snapshot()).children
        next = entry === undefined ? undefined : families.env.threads.get(entry.reference)
      }
      expect(depth).toBe(7)
      const [refused] = await toolResults(last)
      expect(refused).toMatchObject({ tool_status: 'error' })
      expect(refused?.content).toContain('8 deep')
      expect((await toolResults(family.thread))[0]).toMatchObject({ content: marked('Good') })
    })
  },
  { limits: { sessionTurns: 6 } },
)

function never(): never {
  throw new Error('Expected no call.')
}

function decoded(payload: { readonly data?: Uint8Array | null } | null | undefined): unknown {
  return JSON.parse(Buffer.from(payload?.data ?? []).toString())
}
