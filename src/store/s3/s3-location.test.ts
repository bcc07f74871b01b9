import { expect, test } from 'vitest'

import { parseS3Url } from './s3-location.js'

const parse = (text: string) => parseS3Url('store.blobs', text)

test('a bucket of AWS needs no more than its name', () => {
  expect(parse('s3://threads')).toEqual({
    bucket: 'threads',
    prefix: '',
    region: undefined,
    endpoint: undefined,
    forcePathStyle: false,
  })
})

test('prefix, region and endpoint come from the URL', () => {
  const text = 's3://my.bucket-1/team/blobs/?region=eu-central-1&endpoint=https%3A%2F%2Fs3.example.com%3A9000'
  expect(parse(text)).toEqual({
    bucket: 'my.bucket-1',
    prefix: 'team/blobs',
    region: 'eu-central-1',
    endpoint: 'https://s3.example.com:9000',
    forcePathStyle: true,
  })
})

test('an endpoint may have host names for buckets', () => {
  const text = 's3://b-1?endpoint=http://127.0.0.1:9000&forcePathStyle=false'
  expect(parse(text)).toMatchObject({ endpoint: 'http://127.0.0.1:9000', forcePathStyle: false })
  expect(parse('s3://b-1?forcePathStyle=true')).toMatchObject({ endpoint: undefined, forcePathStyle: true })
})

test.each([
  ['s3:', 'bucket name'],
  ['s3:///prefix', 'bucket name'],
  ['s3://ab', 'bucket name'],
  ['s3://Upper', 'bucket name'],
  ['s3://a_b_c', 'bucket name'],
  ['s3://bucket:9000', 'without a port'],
  ['s3://bucket/with%20space', 'prefix'],
  ['s3://bucket/a//b', 'prefix'],
  [`s3://bucket/${'a'.repeat(513)}`, 'prefix'],
  ['s3://bucket#part', 'without "#"'],
  ['s3://bucket?regoin=x', 'none of region, endpoint, forcePathStyle'],
  ['s3://bucket?region=a&region=b', 'region twice'],
  ['s3://bucket?region=', 'a region that is none'],
  ['s3://bucket?endpoint=localhost:9000', 'an endpoint that is no URL'],
  ['s3://bucket?endpoint=http://u:p@host', 'an endpoint that is no URL'],
  ['s3://bucket?forcePathStyle=yes', 'neither true nor false'],
])('the URL %s is refused', (text, problem) => {
  expect(parse(text)).toEqual({
    problems: [expect.stringMatching(/^Expected store\.blobs to be a URL such as s3:\/\/bucket\/prefix/)],
  })
  expect(JSON.stringify(parse(text))).toContain(JSON.stringify(problem).slice(1, -1))
})

test('all problems are named, passwords in none', () => {
  const found = parse(
    's3://key:hunter2@B/x?endpoint=http://a:hunter2@b&hunter2=1&forcePathStyle=hunter2#hunter2',
  )
  expect('problems' in found && found.problems).toHaveLength(6)
  expect(JSON.stringify(found)).not.toContain('hunter2')
})
