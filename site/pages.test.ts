import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { foreignIn, foreignInStyle, siteProblems } from './built-site.ts'
import { httpPages, slugOf, typeText } from './http-api.ts'
import { firstSentence } from './llms.ts'
import { navigation, navigationProblems, sitePages } from './navigation.ts'
import { addressOf, readPages, titleOf, withLinks } from './pages.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'everthread-site-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

function write(root: string, files: Readonly<Record<string, string>>): string {
  for (const [name, text] of Object.entries(files)) {
    const path = join(folder, root, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  return join(folder, root)
}

test('each page of the repository has one place in the site', () => {
  expect(navigationProblems(navigation(), sitePages())).toEqual([])
})

test('a page without a place, with two places, and a place without a page are named', () => {
  const groups = [{ title: 'Start', pages: ['README.md', 'docs/a.md', 'docs/a.md', 'docs/gone.md'] }]
  expect(navigationProblems(groups, ['README.md', 'docs/a.md', 'docs/guide/new.md'])).toEqual([
    'Expected a place for docs/guide/new.md, got none: name it in a group of site/navigation.ts',
    'Expected one place for docs/a.md, got two: remove one from site/navigation.ts',
    'Expected docs/gone.md, got no such page: remove it from site/navigation.ts',
  ])
})

test('links lead to the addresses of the site, and what they name becomes a part of it', () => {
  const root = write('linked', {
    'README.md': '# Start\n\n[a](docs/guide/a.md#more), [code](examples/one), `[no](link.md)`\n',
    'docs/guide/a.md':
      '# A\n\n[up](../../README.md) [data](../data.json) [away](https://example.com)\n\n## More\n',
    'docs/data.json': '{}',
    'examples/one/run.ts': 'export {}\n',
    'examples/one/package-lock.json': '{}',
    'examples/one/node_modules/a/index.ts': 'export {}\n',
    'examples/one/.next/b.ts': 'export {}\n',
  })
  const { pages, files, problems } = readPages(root, ['README.md', 'docs/guide/a.md'])
  expect(problems).toEqual([])
  expect(pages.map(({ address }) => address)).toEqual(['index.md', 'guide/a.md', 'examples/one/index.md'])
  expect(pages[0]?.markdown).toContain(
    '[a](./guide/a.md#more), [code](./examples/one/index.md), `[no](link.md)`',
  )
  expect(pages[1]?.markdown).toContain('[up](../index.md) [data](../data.json) [away](https://example.com)')
  expect(pages[2]?.markdown).toBe('# one\n\n## run.ts\n\n````ts\nexport {}\n````\n')
  expect([...files]).toEqual([['data.json', 'docs/data.json']])
})

test('a link to nothing, or to a file outside of the repository, is named with its page', () => {
  const root = write('broken', { 'README.md': '# Start\n\n[a](docs/gone.md) [b](../linked/README.md)\n' })
  expect(readPages(root, ['README.md']).problems).toEqual([
    'Expected what README.md links to, got no docs/gone.md: mend the link',
    'Expected what README.md links to, got no ../linked/README.md: mend the link',
  ])
})

test('code in a page keeps what looks like a link', () => {
  const text = '```md\n[a](b.md)\n```\n\n[a](b.md) `[a](b.md)`\n'
  expect(withLinks(text, (target) => `x/${target}`)).toBe(
    '```md\n[a](b.md)\n```\n\n[a](x/b.md) `[a](b.md)`\n',
  )
})

test('titles and first sentences are without marks', () => {
  expect(titleOf('# Class: `Thread`\\<R\\> of [x](y.md)\n')).toBe('Class: Thread<R> of x')
  expect(firstSentence('# A\n\n```sh\nrun. it\n```\n\nA [thread](t.md) is\none. More.\n')).toBe(
    'A thread is one.',
  )
  expect(addressOf('docs/decisions/README.md')).toBe('decisions/index.md')
})

test('a built page with a dead link, a dead anchor or a foreign file is named', () => {
  const root = write('built', {
    'index.html': '<h1 id="a">A</h1><a href="/b.html#gone">1</a><a href="#a">2</a><a href="/c.html">3</a>',
    'b.html': '<script src="https://cdn.example/x.js"></script><a href="https://example.com">4</a>',
    'assets/style.css': '@font-face { src: url("//fonts.example/a.woff2") }',
  })
  expect(siteProblems(root).toSorted()).toEqual([
    'assets/style.css loads //fonts.example/a.woff2',
    'b.html loads https://cdn.example/x.js',
    'index.html links to /b.html#gone, which has no such heading',
    'index.html links to /c.html, which is not there',
  ])
})

test('what is loaded is told from what a reader follows', () => {
  expect(
    foreignIn('<a href="https://a.example"><img src="/a.png"><img alt="x" src="http://b.example/c">'),
  ).toEqual(['http://b.example/c'])
  expect(foreignInStyle("a { background: url(data:,) } @import 'https://c.example/d.css'")).toEqual([
    'https://c.example/d.css',
  ])
})

test('each route of the OpenAPI document and each of its objects has a heading', () => {
  const thread = { type: 'object', properties: { id: { type: 'string', minLength: 1 } }, required: ['id'] }
  const pages = httpPages({
    info: { description: 'All.' },
    paths: {
      '/threads/{id}': {
        get: {
          tags: ['threads'],
          summary: 'Reads | one.',
          responses: {
            200: {
              description: 'It.',
              content: { 'application/json': { schema: { $ref: '#/components/schemas/Thread' } } },
            },
          },
        },
      },
    },
    components: { schemas: { Thread: thread }, securitySchemes: {} },
  })
  expect(pages.map(({ address }) => address)).toEqual(['http/index.md', 'http/threads.md', 'http/objects.md'])
  expect(pages[0]?.markdown).toContain('[GET `/threads/{id}`](./threads.md#get-threadsid) | Reads \\| one. |')
  expect(pages[1]?.markdown).toContain('## GET `/threads/{id}`')
  expect(pages[1]?.markdown).toContain('| 200 | [Thread](./objects.md#thread) | It. |')
  expect(pages[2]?.markdown).toContain('| `id` | string, length from 1 | yes |  |')
})

test('a type is said in words, with its bounds', () => {
  expect(typeText({ type: ['integer', 'null'], minimum: 1, maximum: 500 })).toBe(
    'integer or null, from 1, to 500',
  )
  expect(typeText({ type: 'array', items: { enum: ['a', null] } })).toBe('array of (`"a"`, `null`)')
  expect(typeText({ anyOf: [{ type: 'boolean' }, { $ref: '#/components/schemas/A' }] })).toBe(
    'boolean or [A](./objects.md#a)',
  )
})

test('a heading has the anchor that GitHub gives it, so that links work in both places', () => {
  expect(slugOf('GET /threads/{id}, `again`: a_b-c')).toBe('get-threadsid-again-a_b-c')
})
