-- When and with which server the merge of a merged change request was lost: a take-over accepted a copy that lacks it.
-- Expand: a server of the version before leaves both null and shows the change request as merged, as it did.
alter table change_requests add column merge_lost_at timestamptz(3);
alter table change_requests add column merge_lost_server text;
