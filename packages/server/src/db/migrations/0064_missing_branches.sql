-- The branch of an open change request that did not exist when its branches were last read. Null: both existed.
alter table change_requests add column missing_ref text;
