import { expect, test } from 'bun:test'
import { missingPackage } from './install.mjs'
import { readReport } from './junit.mjs'

test('reads what Bun reports: passed, failed, skipped, with names and messages decoded', () => {
  const report = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="bun test" tests="3" failures="1" skipped="1">
  <testsuite name="a.test.ts" file="a.test.ts" tests="3">
    <testsuite name="a &lt;group&gt;" file="a.test.ts">
      <testcase name="fails" classname="a &lt;group&gt;" time="0.1" file="a.test.ts" line="2" assertions="1">
        <failure type="AssertionError" message="one&#10;two">long text</failure>
      </testcase>
      <testcase name="left out" classname="a &lt;group&gt;" time="0" file="a.test.ts">
        <skipped />
      </testcase>
    </testsuite>
    <testcase name="fine" classname="" time="0.1" file="a.test.ts" line="4" assertions="0" />
  </testsuite>
</testsuites>`
  expect(readReport(report)).toEqual([
    { file: 'a.test.ts', name: 'a <group> > fails', outcome: 'failed', message: 'one\ntwo' },
    { file: 'a.test.ts', name: 'a <group> > left out', outcome: 'skipped', message: '' },
    { file: 'a.test.ts', name: 'fine', outcome: 'passed', message: '' },
  ])
})

test('an installation is current when every package that must be there is there as locked', () => {
  const wanted = {
    '': { version: '1' },
    'packages/a': { version: '1' },
    'node_modules/one': { version: '1.0.0', integrity: 'x' },
    'node_modules/other-platform': { version: '1.0.0', integrity: 'y', optional: true },
    'node_modules/a': { link: true },
  }
  const installed = { 'node_modules/one': { version: '1.0.0', integrity: 'x' }, 'node_modules/a': { link: true } }
  expect(missingPackage(wanted, installed)).toBeNull()
  expect(missingPackage(wanted, { 'node_modules/a': { link: true } })).toBe('one is missing')
  const older = { ...installed, 'node_modules/one': { version: '0.9.0', integrity: 'z' } }
  expect(missingPackage(wanted, older)).toBe('one has changed')
})
