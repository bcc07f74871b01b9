import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

import { OpenAPIHono } from '@hono/zod-openapi'
import { expect, test } from 'vitest'

import { errorResponse } from './error-response.js'
import { addPageRoutes } from './page.js'
import type { PageOptions } from './page.js'
import type { ServerEnv } from './server-context.js'

const HTML = '<script type="module" src="./page/page-1.js"></script>'

async function appWith(files: Readonly<Record<string, string>>, options: PageOptions = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'everthread-page-'))
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  const app = new OpenAPIHono<ServerEnv>()
  app.onError((error, context) => errorResponse(context, error))
  addPageRoutes(app, options, pathToFileURL(`${folder}/`))
  return app
}

const built = { 'index.html': HTML, 'page-1.js': 'let page' }

test('the page may run its own scripts only, and is asked for again each time', async () => {
  const response = await (await appWith(built)).request('/')
  expect([response.status, await response.text()]).toEqual([200, HTML])
  expect(response.headers.get('content-security-policy')).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; " +
      "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  )
  expect(response.headers.get('cache-control')).toBe('no-cache')
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
})

test('a file is kept for ever, packed where the browser takes it, and not sent twice', async () => {
  const app = await appWith(built)
  const whole = await app.request('/page/page-1.js')
  expect([await whole.text(), whole.headers.get('content-encoding')]).toEqual(['let page', null])
  expect(whole.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
  const packed = await app.request('/page/page-1.js', { headers: { 'accept-encoding': 'br, gzip' } })
  expect(packed.headers.get('content-encoding')).toBe('gzip')
  const again = { headers: { 'if-none-match': whole.headers.get('etag') ?? '' } }
  expect((await app.request('/page/page-1.js', again)).status).toBe(304)
})

test.each(['/page/other.js', '/page/..%2Fpackage.json', '/page/%2e%2e%2fpackage.json'])(
  '%s is no file of the page',
  async (path) => {
    expect((await (await appWith(built)).request(path)).status).toBe(404)
  },
)

test('the page says of its server what a link needs', async () => {
  const config = async (options: PageOptions): Promise<unknown> =>
    (await (await appWith(built, options)).request('/page/config.json')).json()
  expect(await config({})).toEqual({ temporalUi: null, version: expect.stringMatching(/^\d+\.\d+\.\d+/) })
  expect(await config({ temporalUi: 'http://ui/namespaces/default/' })).toMatchObject({
    temporalUi: 'http://ui/namespaces/default',
  })
})

test('a page that is mounted without a slash finds its files below its path', async () => {
  const outer = new OpenAPIHono<ServerEnv>().route('/admin', await appWith(built))
  expect(await (await outer.request('/admin')).text()).toContain('src="./admin/page/page-1.js"')
  expect((await outer.request('/admin/page/page-1.js')).status).toBe(200)
})

test('a page that is not built says what makes it', async () => {
  const response = await (await appWith({})).request('/')
  expect([response.status, await response.json()]).toMatchObject([
    404,
    { error: { code: 'not_found', message: expect.stringContaining('"npm run build" makes it') } },
  ])
})
