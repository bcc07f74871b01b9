import { expect, test } from 'vitest'

import { describe, measure, problemsOf, readSource } from './structure.js'

function house(files: Readonly<Record<string, string>>): ReturnType<typeof measure> {
  return measure(new Map(Object.entries(files).map(([file, text]) => [file, readSource(file, text)])))
}

const lines = (count: number): string => 'export {}\n'.repeat(count)

test('a file above 500 lines and a folder above 20 files are named', () => {
  const folder = Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`src/a/${n}.ts`, lines(10)]))
  const structure = house({ ...folder, 'src/b/long.ts': lines(501), 'src/b/long.test.ts': lines(900) })
  expect(problemsOf(structure)).toEqual([
    'src/b/long.ts has more than 500 lines: a file is one concept',
    'src/a has 21 files, expected at most 20: cut it by concept',
  ])
  expect(structure).toMatchObject({ files: 22, median: 10, max: 501, largestFolder: { name: 'src/a' } })
})

test('circles of values and of types are told apart', () => {
  const structure = house({
    'src/a/one.ts': "import { two } from './two.js'\nexport const one = two\n",
    'src/a/two.ts': "import type { One } from './three.js'\nexport const two: One = 1\n",
    'src/a/three.ts': "import { one } from './one.js'\nexport type One = typeof one\n",
  })
  expect(structure.valueCycles).toEqual([])
  expect(structure.typeCycles.map((cycle) => cycle.toSorted())).toEqual([
    ['src/a/one.ts', 'src/a/three.ts', 'src/a/two.ts'],
  ])
  expect(problemsOf(structure).join()).toContain('import each other in a circle')
})

test('an export counts where one file imports it and no test names it', () => {
  const structure = house({
    'src/a/parts.ts':
      'export const own = 1\nexport function tested() {}\nexport interface Shared {}\nexport class Across {}\nexport const doored = 1\n',
    'src/a/near.ts':
      "import { own, tested } from './parts.js'\nimport type { Shared } from './parts.js'\nown\n",
    'src/a/far.ts': "import type { Shared } from './parts.js'\n",
    'src/b/other.ts': "import { Across } from '../a/parts.js'\n",
    'src/index.ts': "export { doored } from './a/parts.js'\n",
    'test/a.test.ts': "import { tested } from '../src/a/parts.js'\n",
  })
  expect(structure.exportsWithOneImporter).toEqual(['src/a/parts.ts own (src/a/near.ts)'])
  expect(structure.exportsToOneFolder).toEqual(['src/a/parts.ts Across (src/b/other.ts)'])
  expect(describe(structure)).toContain('exports with one importer in the same folder 1, in another 1')
})
