import { expect, test } from 'bun:test'
import { changedFiles } from '../files/changed-files.ts'
import { factsOf } from './file-facts.ts'

const patch = `diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
diff --git a/old.ts b/new.ts
similarity index 100%
rename from old.ts
rename to new.ts
diff --git a/none b/none
new file mode 100644
index 0000000..e69de29
`
const none = { additions: 0, deletions: 0, binary: false }
const diff = {
  ...{ base_sha: 'a', head_sha: 'b', merge_base: 'a', truncated: false, isWhole: true, patch },
  files: [
    { ...none, path: 'run.sh', old_path: null, status: 'modified' as const },
    { ...none, path: 'new.ts', old_path: 'old.ts', status: 'renamed' as const },
    { ...none, path: 'none', old_path: null, status: 'added' as const },
    { ...none, path: 'new.bin', old_path: 'old.bin', status: 'renamed' as const, binary: true },
  ],
}

test('names the previous path and the modes of a file without changed lines', () => {
  expect(changedFiles(diff).map(factsOf)).toEqual([
    'Mode 100644 → 100755. No changed lines',
    'Was old.ts. No changed lines',
    'Empty file',
    'Was old.bin. Binary file',
  ])
})
