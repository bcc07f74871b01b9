import { Client, Connection } from '@temporalio/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listRegisteredSearchAttributes } from '../../src/client/connection.js'
import { startTestServer } from '../../src/testing/test-server.js'
import { startDevServer } from '../support/servers.js'
import type { DevServer } from '../support/servers.js'

let server: DevServer
let connection: Connection

beforeAll(async () => {
  server = await startDevServer()
  connection = Connection.lazy({ address: server.address })
})
afterAll(async () => {
  await connection.close()
  await server.stop()
})

test('registered search attributes are named in the start', async () => {
  const names = await listRegisteredSearchAttributes(new Client({ connection }), 't')
  expect(names).toEqual([
    'ThreadAgent',
    'ThreadStatus',
    'ThreadUser',
    'ThreadParent',
    'ThreadRoot',
    'ThreadTags',
  ])
})

test('missing search attributes are warned of with the command', async () => {
  const warned = new Promise<Error>((resolve) => process.once('warning', resolve))
  const client = new Client({ connection, namespace: 'temporal-system' })
  expect(await listRegisteredSearchAttributes(client, 't')).toEqual([])
  const { message } = await warned
  expect(message).toContain('temporal operator search-attribute create --namespace temporal-system ')
  expect(message).toContain('--name ThreadAgent --type Keyword ')
  expect(message).toContain('--name ThreadTags --type KeywordList')
})

test('a server without a listing gets none', async () => {
  const environment = await startTestServer('time-skipping')
  expect(await listRegisteredSearchAttributes(environment.client, 't')).toEqual([])
  await environment.teardown()
})
