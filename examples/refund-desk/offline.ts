// Policy and approvals without a provider, a key or a server of yours: models are scripted, Temporal is the test server.
import type { ApprovalRequest, ThreadHandle } from 'everthread/client'
import { createTestEnvironment, scriptedModel } from 'everthread/testing'

import { account } from './account.ts'
import { refunds } from './registry.ts'

const asks = (euros: number) => ({
  toolCalls: [{ name: 'refund_order', args: { orderId: 'A-17', euros } }],
})
const chat = scriptedModel([
  asks(180),
  { text: 'Refunded.' },
  asks(30),
  { text: 'Refunded again.' },
  asks(30),
  { text: 'I may not.' },
])
const env = await createTestEnvironment({ registry: refunds, models: { chat } })
const manager = { caller: { account: null, user: 'mia', roles: ['manager'] } }

async function requestOf(thread: ThreadHandle): Promise<ApprovalRequest> {
  await thread.waitUntilIdle()
  const [request] = (await thread.snapshot()).pending
  if (request?.kind !== 'approval') throw new Error('Expected a request for an approval.')
  return request
}

try {
  const thread = await env.threads.create({
    agent: 'refunds',
    userId: 'ann',
    message: 'Refund A-17, please.',
  })
  const request = await requestOf(thread)
  for (const part of request.preview ?? []) console.log('preview:', JSON.stringify(part))

  const denied = await thread
    .respond(request.id, { approved: true, by: 'ann' })
    .catch((error: unknown) => error)
  console.log('ann, for whom it works:', denied instanceof Error ? denied.message : denied)

  const changed = { orderId: 'A-17', euros: 100 }
  const remember = { for: 'thread', expiresIn: 3_600_000 } as const
  await thread.respond(request.id, { approved: true, arguments: changed, remember }, manager)
  console.log('reply:', (await thread.waitUntilIdle()).reply?.content, JSON.stringify(account.find('A-17')))

  await thread.send('Another 30 euros, please.')
  console.log(
    'by the grant:',
    (await thread.waitUntilIdle()).reply?.content,
    JSON.stringify(account.find('A-17')),
  )

  await thread.send({ content: 'And another 30.', runPermissions: { 'orders.refund': 'deny' } })
  console.log(
    'by a rule of the run:',
    (await thread.waitUntilIdle()).reply?.content,
    JSON.stringify(account.find('A-17')),
  )

  for (const { toolName, decision, source, by, grantId, changed: isChanged } of await thread.decisions())
    console.log('decision:', JSON.stringify({ toolName, decision, source, by, grantId, changed: isChanged }))
  for await (const { type } of thread.events({ follow: false }))
    if (/^(permission\.|action\.|tool\.(started|result)$)/.test(type)) console.log('event:', type)
} finally {
  await env.close()
}
