local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local now = (us - us % 1000) / 1000
