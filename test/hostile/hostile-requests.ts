import { hostilePath } from './hostile-files.js'
import { sendable } from './hostile-values.js'
import type { HostileChoices } from './hostile-values.js'

export interface HostileRequest {
  readonly path: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Uint8Array | string
}

const FIELDS = [
  ...[
    'agent',
    'id',
    'key',
    'message',
    'content',
    'role',
    'silent',
    'attachments',
    'metadata',
    'userId',
    'tags',
  ],
  ...[
    'title',
    'account',
    'env',
    'limits',
    'children',
    'reason',
    'runId',
    'approved',
    'result',
    'by',
    'values',
  ],
]

/** A request to some route of a thread, or to none, with a body that it does not take. */
export function hostileRequest(random: HostileChoices, threadId: string): HostileRequest {
  const segment = (): string => encodeURIComponent(sendable(random.text().slice(0, 400)))
  const id = random.chance(0.85) ? encodeURIComponent(threadId) : segment()
  const named = encodeURIComponent(sendable(random.chance(0.5) ? hostilePath(random) : random.text()))
  const [method, path] = random.pick<readonly [string, string]>([
    ['POST', '/threads'],
    ['POST', '/threads'],
    ['POST', `/threads/${id}/messages`],
    ['POST', `/threads/${id}/messages`],
    ['POST', `/threads/${id}/stop`],
    ['POST', `/threads/${id}/continue`],
    ['POST', `/threads/${id}/variables`],
    ['PUT', `/threads/${id}/variables`],
    ['POST', `/threads/${id}/requests/${segment() || 'x'}`],
    ['POST', `/threads/${id}/variables/${segment() || 'x'}`],
    ['DELETE', `/threads/${id}/queue/${segment() || 'x'}`],
    ['GET', `/threads/${id}/messages?limit=${segment()}&before=${segment()}`],
    ['GET', `/threads?cursor=${segment()}&limit=${segment()}&status=${segment()}`],
    ['GET', `/requests?cursor=${segment()}&agent=${segment()}`],
    ['GET', `/threads/${id}/files?path=${named}`],
    ['GET', `/threads/${id}/files/content?path=${named}`],
    ['PUT', `/threads/${id}/files/content?path=${named}`],
    ['DELETE', `/threads/${id}/files/content?path=${named}`],
    ['PUT', `/threads/${id}/files/content?path=/taken.txt`],
    ['PATCH', `/threads/${id}`],
    ['GET', `/${segment()}/${segment()}`],
  ])
  const hasBody = method !== 'GET' && method !== 'DELETE'
  return { method, path, headers: headersOf(random), ...(hasBody && { body: bodyOf(random) }) }
}

function headersOf(random: HostileChoices): Readonly<Record<string, string>> {
  return {
    'content-type': random.pick([
      ...['application/json', 'application/json', 'application/json', 'application/json; charset=utf-16'],
      ...['text/plain', 'multipart/form-data', 'application/x-www-form-urlencoded', 'x', '', 'image/png\t'],
    ]),
    ...(random.chance(0.1) && { traceparent: random.pick(['00-x-y-z', '0'.repeat(2_000), '']) }),
    ...(random.chance(0.1) && { range: random.pick(['bytes=9-1', 'bytes=-', 'bytes=0-1e9', 'x=1']) }),
    ...(random.chance(0.05) && { 'content-length': '7' }),
  }
}

function bodyOf(random: HostileChoices): Uint8Array | string {
  return random.pick<() => Uint8Array | string>([
    () => random.bytes(random.below(300)),
    () => '',
    () => JSON.stringify({ agent: 'desk', content: 'hello' }).slice(0, 1 + random.below(20)),
    () => JSON.stringify(random.json()) ?? 'null',
    () => JSON.stringify(random.json()) ?? 'null',
    () => JSON.stringify(fieldsOf(random)),
    () => JSON.stringify(fieldsOf(random)),
    () => JSON.stringify(fieldsOf(random)),
    () => `${'['.repeat(50_000)}${']'.repeat(50_000)}`,
    () => `{"content": "hello", "content": 7, "__proto__": {"role": "system"}}`,
    () => '{"content": "\\ud800\\u0000"}',
    () => '\uFEFF{"content": "with a mark"}',
    () => '{"content": 1e999}',
    () => JSON.stringify({ content: 'x'.repeat(random.pick([20_000, 1_100_000])) }),
    () => 'content=hello&role=user',
  ])()
}

function fieldsOf(random: HostileChoices): object {
  const fields = Array.from({ length: 1 + random.below(4) }, () => [
    random.pick(FIELDS),
    random.chance(0.5) ? random.json() : random.text(),
  ])
  return { ...(random.chance(0.4) && { agent: 'desk' }), ...(Object.fromEntries(fields) as object) }
}
