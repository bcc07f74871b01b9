// A test that never closes its environment: it says where the server is, and stays.
import { Connection } from '@temporalio/client'

import { createTestEnvironment, scriptedModel } from '../../src/testing/index.js'
import { workflowDesk } from '../support/workflow-desk.js'

const silent = scriptedModel([])
const models = { chat: silent, narrow: silent, backed: silent, review: silent }
const env = await createTestEnvironment({ registry: workflowDesk, models })
const { connection } = env.threads.temporal
if (!(connection instanceof Connection)) throw new Error('Expected a connection of the SDK.')
process.stdout.write(`server ${connection.options.address}\n`)
