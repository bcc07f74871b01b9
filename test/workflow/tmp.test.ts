import { test } from 'vitest'
import { createTestEnvironment, scriptedModel } from '../../src/testing/index.js'
import { workflowDesk } from '../support/workflow-desk.js'
for (const server of ['time-skipping'] as const)
test(server, async () => {
  let n = 0
  const env = await createTestEnvironment({ registry: workflowDesk, models: { chat: scriptedModel(async () => { n++; if (n === 1) await new Promise(r => setTimeout(r, 60000)); return { text: 'hi' }}), review: scriptedModel([]) }, server })
  try {
  const thread = await env.threads.create({ agent: 'clerk', id: 't', message: 'a' })
  while (n === 0) await new Promise(r => setTimeout(r, 20))
  let t0 = Date.now()
  await env.restartWorker()
  console.log(server, 'restarted', Date.now() - t0)
  await env.threads.temporal.connection.workflowService.resetStickyTaskQueue({ namespace: 'default', execution: { workflowId: 't' } }).then(() => console.log(server, 'reset'), (e) => console.log(server, e.message))

  while (n === 1) await new Promise(r => setTimeout(r, 20))
  console.log(server, 'second attempt', Date.now() - t0)
  await thread.waitUntilIdle({ timeout: 6000 }).catch(e => console.log(server, e.message))
  console.log(server, 'idle', Date.now() - t0)
  await env.sleep('10s'); await thread.waitUntilIdle({ timeout: 6000 }).catch(e => console.log(server, e.message))
  const h = await thread.workflow.fetchHistory()
  for (const e of h.events) console.log(server, String(e.eventId), new Date(Number(e.eventTime.seconds)*1000 + e.eventTime.nanos/1e6).toISOString(), Object.keys(e).filter(k => k.endsWith('Attributes') && e[k]).join(), e.workflowTaskScheduledEventAttributes ? JSON.stringify(e.workflowTaskScheduledEventAttributes.taskQueue) : '', e.workflowTaskTimedOutEventAttributes ? JSON.stringify(e.workflowTaskTimedOutEventAttributes) : '')
  } finally { await env.close() }
}, 120000)
