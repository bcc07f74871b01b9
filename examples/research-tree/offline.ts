// One budget of money for a tree of agents, without a provider, a key or a server of yours.
import type { ThreadHandle } from 'everthread/client'
import { createTestEnvironment, scriptedModel } from 'everthread/testing'
import { formatCost } from 'everthread'

import { budgets, research } from './registry.ts'

const topics = ['rain', 'snow', 'hail']
// Each answer costs 4,000 x 0.25 + 500 x 2 millionths: 0.002 dollars.
const usage = { inputTokens: 4_000, outputTokens: 500, cachedInputTokens: 0 }
const told: string[] = []

const chat = scriptedModel(({ prompt, messages }) => {
  const last = messages.at(-1)?.text ?? ''
  if (last.includes('Budget left')) told.push(last.slice(last.indexOf('Budget left')))
  const results = messages.filter(({ role }) => role === 'tool').length
  if (prompt === 'lead') {
    const items = topics.map((topic) => ({ topic }))
    const calls = [{ name: 'researcher', args: { items } }]
    return results === 0 ? { toolCalls: calls, usage } : { text: 'Rain, snow and hail are water.', usage }
  }
  const topic = topics.find((one) => messages.some(({ text }) => text.includes(one))) ?? 'rain'
  return results === 0
    ? { toolCalls: [{ name: 'look_up', args: { topic } }], usage }
    : { toolCalls: [{ name: 'deliver', args: { text: `About ${topic}.` } }], usage }
})
const env = await createTestEnvironment({ registry: research, models: { chat } })
const owner = { caller: { account: null, user: 'olga', roles: ['owner'] } }

/** The owner raises the limit once, for all that wait for it. */
async function raiseUntilDone(thread: ThreadHandle): Promise<void> {
  const ended = thread.waitUntilIdle({ timeout: 60_000 }).then((result) => {
    console.log('reply:', result.reply?.content, result.reason)
    return true
  })
  for (let raised = false; ;) {
    const isOver = await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 200, false))])
    if (isOver === true) return
    const [request] = (await env.threads.pendingPage({ root: thread.threadId })).requests
    if (raised || request?.kind !== 'budget') continue
    console.log('asked:', request.scope, request.limit, request.most, 'used', request.used)
    const asked = env.threads.get(request.threadId)
    const denied = await asked.respond(request.id, { approved: true }).catch((error: unknown) => error)
    console.log('somebody:', denied instanceof Error ? denied.message : denied)
    await asked.respond(request.id, { approved: true, raise: 0.05 }, owner)
    raised = true
  }
}

try {
  const thread = await env.threads.create({ agent: 'lead', message: 'Rain, snow and hail, please.', budgets })
  await raiseUntilDone(thread)
  console.log('told:', told[0])
  for (const { scope, limits, used } of await thread.budget())
    console.log('budget:', JSON.stringify({ scope, limits, used }))
  const { cost, requests } = await thread.usage({ tree: true })
  console.log('usage:', formatCost(cost), requests, 'requests')
} finally {
  await env.close()
}
