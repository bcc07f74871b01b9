/** Writes of clients are facts of the log, as those of tools are. */
import { expect, test } from 'vitest'

import { fold } from '../../src/client/index.js'
import { factsOf } from '../support/thread-facts.js'
import { servedFixture } from './client-fixture.js'

const fixture = servedFixture()

test('variables that a client sets are events with their names, and never their values', async () => {
  const env = { FIRST: 'value-one' }
  const thread = await fixture.threads.create({ agent: 'support', env })
  await thread.setEnv({ SECOND: 'value-two', THIRD: 'value-three' })
  const facts = await factsOf(thread)
  expect(facts).toMatchObject([
    ...[{ type: 'thread.started' }, { type: 'session.created' }],
    { type: 'variables.changed', payload: { names: ['FIRST'] } },
    { type: 'variables.changed', payload: { names: ['SECOND', 'THIRD'] } },
  ])
  expect(JSON.stringify(facts)).not.toContain('value-')
})

test('files that a client writes, sends and deletes are events', async () => {
  const thread = await fixture.threads.create({ agent: 'support' })
  await thread.writeFile('/a.txt', 'one', 'text/plain')
  await thread.writeFile('/a.txt', 'other', 'text/plain')
  const attachment = { name: 'b.txt', mimeType: 'text/plain', data: Buffer.from('sent') }
  await thread.send({ content: 'Look', attachments: [attachment] })
  await thread.unlinkFile('/a.txt')
  const changes = (await factsOf(thread)).flatMap((fact) =>
    fact.type === 'file.changed' ? [[fact.payload.path, fact.payload.change, fact.payload.size]] : [],
  )
  expect(changes).toEqual([
    ['/a.txt', 'created', 3],
    ['/a.txt', 'updated', 5],
    ['/attachments/b.txt', 'created', 4],
    ['/a.txt', 'deleted', 0],
  ])
})

test('AR-ES.4 a client that comes back with what it has folded goes on at its gap', async () => {
  const thread = await fixture.threads.create({ agent: 'support' })
  await thread.writeFile('/a.txt', 'one', 'text/plain')
  await thread.terminate()
  const facts = await factsOf(thread)
  const state = fold(facts.filter(({ sequence }) => sequence !== 2))
  expect(state.gapAfter).toBe(1)
  const rest = thread.events({ after: state.gapAfter ?? 0, follow: false })
  const missed = []
  for await (const event of rest) missed.push(event)
  expect(fold(state, missed)).toEqual(fold(facts))
  expect(fold(await thread.snapshot(), [])).toMatchObject({ status: fold(facts).status })
})
