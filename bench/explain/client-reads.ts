import { listAgents } from '../../src/store/agents.js'
import { listRequests } from '../../src/store/calls/request-lists.js'
import { answerFate, findRequest, listOpenRequests } from '../../src/store/calls/requests.js'
import { findToolCall } from '../../src/store/calls/tool-calls.js'
import { listUnusedAnswers } from '../../src/store/consistency.js'
import { lastSequence, readEvents } from '../../src/store/events.js'
import { statFile, listFolder } from '../../src/store/files/files.js'
import { readDeltas } from '../../src/store/messages/deltas.js'
import { countUndelivered } from '../../src/store/messages/message-writes.js'
import { findDelivered, listQueuedMessages } from '../../src/store/messages/queue.js'
import { findMessage, findLastReply, listMessages } from '../../src/store/messages/transcript.js'
import type { Reader } from '../../src/store/store.js'
import { findChild, listChildren } from '../../src/store/threads/children.js'
import { listScheduledEffects } from '../../src/store/threads/effects.js'
import { lastRun } from '../../src/store/threads/runs.js'
import { openThreadsBelow, threadsFrom } from '../../src/store/threads/thread-tree.js'
import { findThread, listThreads, threadProgress } from '../../src/store/threads/threads.js'
import type { ThreadFilter } from '../../src/store/threads/threads.js'
import { findVariables } from '../../src/store/threads/variables.js'
import { FILLED } from './fill.js'

const { thread: threadId, parent, long, message, call, user, account, tag, agent } = FILLED
const limit = 100

const threads =
  (filter: ThreadFilter, after = false) =>
  (db: Reader) =>
    listThreads(db, { filter, limit, after: after ? { lastActivityAt: 5_000_000, id: 't5000' } : null })

const requests = (filter: Parameters<typeof listRequests>[1]['filter']) => (db: Reader) =>
  listRequests(db, { ...(filter !== undefined && { filter }), limit })

/** Every read of `src/client` and of what it serves over HTTP, with the function of the store that it calls. */
export const CLIENT_READS: Readonly<Record<string, (db: Reader) => Promise<unknown>>> = {
  'list: all': threads({}),
  'list: a later page': threads({}, true),
  'list: agent': threads({ agent }),
  'list: status': threads({ status: 'idle' }),
  'list: user': threads({ userId: user }),
  'list: account': threads({ account }),
  'list: account, a later page': threads({ account }, true),
  'list: account and status': threads({ account, status: 'idle' }),
  'list: roots': threads({ parent: null }),
  'list: parent': threads({ parent }),
  'list: tree': threads({ root: parent }),
  'list: tag': threads({ tag }),
  'list: a tag that is rare': threads({ tag: 'none' }),
  'thread: its row': (db) => findThread(db, threadId),
  'thread: how far it is': (db) => threadProgress(db, threadId),
  'thread: its tree': (db) => threadsFrom(db, 't40'),
  'thread: open ones below': (db) => openThreadsBelow(db, 't40'),
  'thread: its children': (db) => listChildren(db, 't40'),
  'thread: a child': (db) => findChild(db, 't40', 't41'),
  'thread: its last run': (db) => lastRun(db, threadId),
  'thread: the last reply of a run': (db) => findLastReply(db, { threadId, run: 5 }),
  'thread: values of variables': (db) => findVariables(db, threadId, ['V1', 'V2']),
  'thread: scheduled effects': (db) => listScheduledEffects(db, threadId),
  'messages: the newest': (db) => listMessages(db, { threadId }),
  'messages: of a long thread': (db) => listMessages(db, { threadId: long }),
  'messages: an older page of it': (db) => listMessages(db, { threadId: long, before: 5000 }),
  'messages: forwards in it': (db) => listMessages(db, { threadId: long, after: 5000 }),
  'messages: all depths, silent ones': (db) =>
    listMessages(db, { threadId, includeSilent: true, maxDepth: 8 }),
  'messages: one': (db) => findMessage(db, threadId, message),
  'queue: what waits': (db) => listQueuedMessages(db, { threadId, length: 100, limit }),
  'queue: how many wait': (db) => countUndelivered(db, threadId),
  'queue: what was delivered': (db) => findDelivered(db, threadId, [message, 'm1']),
  'events: after one': (db) => readEvents(db, { threadId: long, after: 5000, limit }),
  'events: the last one': (db) => lastSequence(db, threadId),
  'events: deltas': (db) => readDeltas(db, threadId),
  'requests: all': requests(undefined),
  'requests: of a thread': requests({ threadId }),
  'requests: of an agent': requests({ agent }),
  'requests: of a user': requests({ userId: user }),
  'requests: one': (db) => findRequest(db, 't1', 'approval_0'),
  'requests: open in a thread': (db) => listOpenRequests(db, { threadId: 't1', limit }),
  'requests: what came of an answer': async (db) => {
    const request = await findRequest(db, 't1', 'approval_0')
    return request === null ? null : answerFate(db, request)
  },
  'requests: answers that nobody took': (db) => listUnusedAnswers(db, { threadId: 't1', before: 10_000_000 }),
  'calls: one': (db) => findToolCall(db, threadId, call),
  'files: one': (db) => statFile(db, threadId, '/notes/f41'),
  'files: a folder': (db) => listFolder(db, threadId, '/notes'),
  'agents: all': (db) => listAgents(db, { after: null, limit }),
}
