/** The official client of AG-UI over a real server and worker. */
import { expect, test } from 'vitest'
import { holdNap } from './ag-ui-desk.js'
import { doorFixture, lastOf, shownBy, tell, transcriptOf, typesOf } from './ag-ui-fixture.js'
import type { DoorAgent } from './ag-ui-fixture.js'

const door = doorFixture()

async function expectTranscript(agent: DoorAgent, threadId = agent.threadId): Promise<void> {
  expect(shownBy(agent)).toEqual(await transcriptOf(door.threads, threadId))
}

test('two runs of the official client end with the transcript, with text, reasoning and a call', async () => {
  const { agent } = await door.start('two-runs')
  tell(agent, 'hello')
  await agent.runAgent()
  await expectTranscript(agent)
  expect(typesOf(agent)[0]).toBe('RUN_STARTED')
  expect(agent.heard.filter(({ type }) => type === 'TEXT_MESSAGE_CONTENT').length).toBeGreaterThan(2)
  expect(lastOf(agent)).toMatchObject({
    ...{ type: 'RUN_FINISHED', outcome: { type: 'success' } },
    usage: [{ model: 'chat', inputTokens: 12, outputTokens: 8, totalTokens: 20, cachedInputTokens: 2 }],
  })
  agent.heard.length = 0
  tell(agent, 'please look please store please fail please summary, and say so')
  await agent.runAgent()
  await expectTranscript(agent)
  const types = typesOf(agent)
  for (const type of ['STEP_STARTED', 'STEP_FINISHED', 'TOOL_CALL_START', 'TOOL_CALL_RESULT', 'CUSTOM'])
    expect(types).toContain(type)
  expect(types).not.toContain('MESSAGES_SNAPSHOT')
  expect(agent.messages.filter(({ role }) => role === 'tool')).toHaveLength(4)
})

test('an attempt that broke off leaves no word', async () => {
  const { agent } = await door.start('flaky')
  tell(agent, 'flaky one')
  await agent.runAgent()
  expect(JSON.stringify(agent.heard)).toContain('Attempt ')
  expect(JSON.stringify(agent.messages)).not.toContain('Attempt')
  await expectTranscript(agent)
})

test('texts that are too long for an event are whole', async () => {
  const { agent } = await door.start('long')
  tell(agent, 'please long')
  await agent.runAgent()
  tell(agent, 'huge')
  await agent.runAgent()
  await expectTranscript(agent)
})

test('an interrupt is resumed with edits, and the call runs with them', async () => {
  const { agent } = await door.start('edits')
  tell(agent, 'please refund')
  await agent.runAgent()
  const [interrupt] = agent.pendingInterrupts
  expect(interrupt).toMatchObject({
    ...{ reason: 'tool_call', toolCallId: expect.any(String) },
    responseSchema: { properties: { approved: { type: 'boolean' }, editedArgs: { type: 'object' } } },
  })
  expect(typesOf(agent).slice(-2)).toEqual(['MESSAGES_SNAPSHOT', 'RUN_FINISHED'])
  await expectTranscript(agent)
  const interruptId = interrupt?.id ?? ''
  // The schema allows for 100 euros.
  const resumeWith = (payload: object) =>
    agent.runAgent({ resume: [{ interruptId, status: 'resolved', payload }] })
  for (const payload of [
    { approved: true, editedArgs: { order: 'A-17', euros: 1_000 } },
    { approved: true, editedArgs: { euros: 'x' } },
    { approved: true, sudo: true },
    { approved: 'yes' },
  ]) {
    await resumeWith(payload)
    expect(lastOf(agent)?.type).toBe('RUN_ERROR')
  }
  expect((await door.threads.get('edits').snapshot()).pending).toHaveLength(1)
  agent.heard.length = 0
  await resumeWith({ approved: true, editedArgs: { order: 'A-17', euros: 7 } })
  expect(JSON.stringify(agent.messages)).toContain('7 euros are refunded.')
  expect(typesOf(agent)).not.toContain('TOOL_CALL_START')
  await expectTranscript(agent)
  // The same again changes nothing.
  await resumeWith({ approved: true, editedArgs: { order: 'A-17', euros: 7 } })
  expect(lastOf(agent)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } })
  await expectTranscript(agent)
  await resumeWith({ approved: false })
  expect(lastOf(agent)).toMatchObject({ type: 'RUN_ERROR', code: 'request_answered' })
})

test('an interrupt that is cancelled or denied is no call, and one that is open takes no new input', async () => {
  const { agent } = await door.start('denied')
  tell(agent, 'please refund')
  await agent.runAgent()
  const interrupts = agent.pendingInterrupts
  agent.pendingInterrupts = []
  tell(agent, 'hello')
  await agent.runAgent()
  expect(lastOf(agent)).toMatchObject({ type: 'RUN_ERROR', code: 'thread_busy' })
  agent.messages.pop()
  agent.pendingInterrupts = interrupts
  await agent.runAgent({ resume: [{ interruptId: interrupts[0]?.id ?? '', status: 'cancelled' }] })
  await expectTranscript(agent)
  expect(agent.messages.find(({ role }) => role === 'tool')).toMatchObject({ metadata: { status: 'error' } })
  await agent.runAgent({ resume: [{ interruptId: 'none', status: 'cancelled' }] })
  expect(lastOf(agent)).toMatchObject({ type: 'RUN_ERROR', code: 'request_not_found' })
})

test('a form, a budget and variables are interrupts with their schemas', async () => {
  const { agent } = await door.start('form')
  tell(agent, 'please survey')
  await agent.runAgent()
  expect(agent.pendingInterrupts[0]).toMatchObject({
    ...{ reason: 'input_required', responseSchema: { required: ['stars'] } },
  })
  const answer = (payload: object) =>
    agent.runAgent({
      resume: agent.pendingInterrupts.map(({ id }) => ({ interruptId: id, status: 'resolved', payload })),
    })
  await answer({ stars: 9 })
  expect(lastOf(agent)).toMatchObject({ type: 'RUN_ERROR' })
  await answer({ stars: 4 })
  await expectTranscript(agent)
  const { agent: thrifty } = await door.start('budget', 'thrifty')
  tell(thrifty, 'please look')
  await thrifty.runAgent()
  const [asked] = thrifty.pendingInterrupts
  expect(asked).toMatchObject({ reason: 'confirmation', metadata: { kind: 'budget' } })
  await thrifty.runAgent({
    resume: [{ interruptId: asked?.id ?? '', status: 'resolved', payload: { approved: true, raise: 5 } }],
  })
  await expectTranscript(thrifty)
  const { agent: mailer } = await door.start('mailer', 'mailer')
  tell(mailer, 'hello')
  await mailer.runAgent()
  const [lacks] = mailer.pendingInterrupts
  expect(lacks).toMatchObject({ reason: 'input_required', responseSchema: { required: ['SENDER'] } })
  await mailer.runAgent({
    resume: [{ interruptId: lacks?.id ?? '', status: 'resolved', payload: { SENDER: 'Ann' } }],
  })
  await expectTranscript(mailer)
  expect(lastOf(mailer)).toMatchObject({ outcome: { type: 'success' } })
})

test('a subagent begins and ends', async () => {
  const { agent } = await door.start('sub')
  tell(agent, 'please researcher')
  await agent.runAgent()
  const [begun, ended] = agent.heard.filter(({ type }) => type.startsWith('SUBAGENT_'))
  expect(begun).toMatchObject({ name: 'researcher', parentToolCallId: expect.any(String) })
  expect(ended).toMatchObject({ type: 'SUBAGENT_FINISHED', subagentRunId: begun?.['subagentRunId'] })
  await expectTranscript(agent)
})

test('a run that is stopped is cancelled, and one that fails is an error', async () => {
  const { agent, thread } = await door.start('stopped')
  tell(agent, 'endless tale')
  const running = agent.runAgent()
  await expect.poll(() => typesOf(agent), { timeout: 60_000 }).toContain('TEXT_MESSAGE_CONTENT')
  await thread.stop()
  await running
  expect(lastOf(agent)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'cancelled' } })
  await expectTranscript(agent)
  const { agent: broken } = await door.start('broken')
  tell(broken, 'broken')
  await broken.runAgent()
  expect(lastOf(broken)).toMatchObject({ type: 'RUN_ERROR', code: 'model_failed' })
  await expectTranscript(broken)
})

test('who leaves stops nothing, and joins again without a doubled word', async () => {
  const { agent, thread } = await door.start('left')
  tell(agent, 'tale')
  const running = agent.runAgent()
  await expect
    .poll(() => typesOf(agent).filter((type) => type === 'TEXT_MESSAGE_CONTENT').length, { timeout: 60_000 })
    .toBeGreaterThan(3)
  agent.abortRun()
  await running
  await agent.connectAgent({ runId: 'again' })
  expect(lastOf(agent)).toMatchObject({ type: 'RUN_FINISHED', runId: 'again' })
  await expectTranscript(agent)
  expect((await thread.snapshot()).lastRun?.reason).toBe('stop_on_response')
  // So does the same run again.
  await agent.runAgent()
  await expectTranscript(agent)
})

test('input that comes while a run works joins it in its place', async () => {
  const { agent, thread } = await door.start('joined')
  const nap = holdNap('joined')
  const other = door.agentAt('/threads/joined/ag-ui', { threadId: 'joined' })
  tell(agent, 'please nap')
  const first = agent.runAgent()
  await expect.poll(() => typesOf(agent), { timeout: 60_000 }).toContain('TOOL_CALL_END')
  tell(other, 'hello')
  const second = other.runAgent()
  await expect.poll(async () => (await thread.snapshot()).queue).toHaveLength(1)
  nap.open()
  await Promise.all([first, second])
  await expectTranscript(agent)
  await expectTranscript(other)
})
